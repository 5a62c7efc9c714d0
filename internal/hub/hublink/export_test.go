package hublink

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
)

// Remembered is how many answers of the hub the link waits to hear of.
func (l *Link) Remembered() (n int) {
	l.shared.Step(func() { n = len(l.delivered) })
	return n
}

// Trust has a client believe a certificate.
func Trust(c *http.Client, cert *x509.Certificate) {
	pool := x509.NewCertPool()
	pool.AddCert(cert)
	c.Transport.(*proving).secure.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: pool}
}
