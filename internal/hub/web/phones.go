package web

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"rsc.io/qr"
)

// phoneLink is a way for a phone to log in, for the page of who adds it.
type phoneLink struct {
	// Link has a code that works once. It is empty where no other machine reaches
	// the hub, and so are the others.
	Link string `json:"link,omitempty"`
	// Others are more addresses of the hub.
	Others []string `json:"others,omitempty"`
	// Path draws the link as a QR code, as a path of an SVG in a square of Size.
	Path string `json:"path,omitempty"`
	Size int    `json:"size,omitempty"`
	// Plain is set where the network can read along.
	Plain bool `json:"plain,omitempty"`
	// Fingerprint is that of a certificate which no browser knows.
	Fingerprint string `json:"fingerprint,omitempty"`
}

// addPhone makes a link for a phone. The phone is a device of its own once it has
// logged in: it can answer, its receipts have its name, and it can be removed alone.
func (s *Server) addPhone(w http.ResponseWriter, r *http.Request, by Device, _ given) {
	var addresses []string
	if s.opts.Addresses != nil {
		addresses = s.opts.Addresses()
	}
	if len(addresses) == 0 {
		reply(w, http.StatusOK, phoneLink{})
		return
	}
	// By which somebody has come already is the likeliest of all.
	if here := "://" + r.Host; slices.ContainsFunc(addresses, func(a string) bool { return strings.HasSuffix(a, here) }) {
		slices.SortStableFunc(addresses, func(x, y string) int {
			return rank(!strings.HasSuffix(x, here)) - rank(!strings.HasSuffix(y, here))
		})
	}
	code, err := s.access.newCode(&by, loginCode{Maker: by.Name, Groups: by.Groups})
	if err != nil {
		s.failed(w, err)
		return
	}
	l := phoneLink{Link: addresses[0] + "/login?code=" + code, Others: addresses[1:], Plain: strings.HasPrefix(addresses[0], "http:"), Fingerprint: s.opts.Fingerprint}
	if l.Path, l.Size, err = drawQR(l.Link); err != nil {
		s.failed(w, err)
		return
	}
	reply(w, http.StatusOK, l)
}

func rank(later bool) int {
	if later {
		return 1
	}
	return 0
}

// drawQR draws a text as a path of an SVG, with the quiet zone that readers want.
func drawQR(text string) (path string, size int, err error) {
	code, err := qr.Encode(text, qr.M)
	if err != nil {
		return "", 0, err
	}
	const quiet = 4
	var b strings.Builder
	for y := range code.Size {
		for x := range code.Size {
			if code.Black(x, y) {
				fmt.Fprintf(&b, "M%d %dh1v1h-1z", x+quiet, y+quiet)
			}
		}
	}
	return b.String(), code.Size + 2*quiet, nil
}
