package main

import (
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"net/http"

	"github.com/acp-bridge/acp-bridge/internal/hub/hublink"
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

// clientFor calls a hub that shows this certificate and no other: then it need
// not be one for the name 127.0.0.1. A hub without one has to prove that it has
// the token: somebody else may listen where it did.
func clientFor(certificate, token string) *http.Client {
	if certificate == "" {
		t := &http.Transport{DisableKeepAlives: true}
		hublink.Prove(t, func() (string, error) { return token, nil })
		return &http.Client{Transport: t}
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
