package main

import (
	"cmp"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	"github.com/acp-bridge/acp-bridge/internal/hub/hublink"
	"github.com/acp-bridge/acp-bridge/internal/hub/web"
)

// fingerprint names the certificate that a hub shows, or is empty without one.
// A hub writes it down beside its address, for the commands of its machine.
func fingerprint(o options) (string, error) {
	if o.tlsCert == "" {
		return "", nil
	}
	pair, err := tls.LoadX509KeyPair(o.tlsCert, o.tlsKey)
	if err != nil {
		return "", err
	}
	return hashOf(pair.Certificate[0]), nil
}

func hashOf(der []byte) string {
	sum := sha256.Sum256(der)
	return hex.EncodeToString(sum[:])
}

// colons writes a hash as browsers do.
func colons(hash string) string {
	sum, _ := hex.DecodeString(hash)
	return strings.ReplaceAll(fmt.Sprintf("% X", sum), " ", ":")
}

const (
	// certificateTime is how long a certificate holds: phones refuse longer ones.
	certificateTime = 800 * 24 * time.Hour
	// renewTime is how long before its end another one is made.
	renewTime = 30 * 24 * time.Hour
)

// ownCertificate is the hub's own, made on first use. It stays as it is for as long as
// it holds, whatever addresses come and go: people know it by its fingerprint.
func ownCertificate(dir string, now time.Time) (certFile, keyFile string, err error) {
	certFile, keyFile = filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	if pair, err := tls.LoadX509KeyPair(certFile, keyFile); err == nil && now.Add(renewTime).Before(pair.Leaf.NotAfter) {
		return certFile, keyFile, nil
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return "", "", err
	}
	private, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return "", "", err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return "", "", err
	}
	names := append(machineNames(), "localhost")
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "acp-bridge-hub on " + cmp.Or(names[0], "this machine")},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(certificateTime), DNSNames: names, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, BasicConstraintsValid: true,
	}
	for _, a := range ownAddresses() {
		template.IPAddresses = append(template.IPAddresses, a.Addr().AsSlice())
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return "", "", err
	}
	err = web.WriteFile(keyFile, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: private}))
	if err == nil {
		err = web.WriteFile(certFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	}
	return certFile, keyFile, err
}

// clientFor calls a hub that shows this certificate and no other: then it need
// not be one for the name 127.0.0.1. A hub without one has to prove that it has
// the token: somebody else may listen where it did.
func clientFor(certificate string, token func() (string, error)) *http.Client {
	if certificate == "" {
		return hublink.Client(nil, token, callTime)
	}
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{
		MinVersion:         tls.VersionTLS12,
		InsecureSkipVerify: true, // the hash is compared in place of the name
		VerifyConnection: func(s tls.ConnectionState) error {
			if len(s.PeerCertificates) == 0 || hashOf(s.PeerCertificates[0].Raw) != certificate {
				return errors.New("this is not the certificate that the hub was started with")
			}
			return nil
		},
	}}}
}
