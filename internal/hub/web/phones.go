package web

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"rsc.io/qr"

	"github.com/acp-bridge/acp-bridge/display/clean"
)

// PhoneLink is a way for a phone to log in, for the page of who adds it.
type PhoneLink struct {
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
	// LAN is "on" or "off" where it can be switched.
	LAN string `json:"lan,omitempty"`
}

// LANState says whether the networks of the hub's machine are let in.
type LANState struct {
	On bool `json:"on"`
	// Addresses are those by which other machines reach the hub.
	Addresses []string `json:"addresses,omitempty"`
}

func (s *Server) addresses() []string {
	if s.opts.Addresses == nil {
		return nil
	}
	return s.opts.Addresses()
}

// lan is "on" or "off", or empty where it cannot be switched.
func (s *Server) lan() string {
	switch {
	case s.opts.LAN == nil:
		return ""
	case s.opts.LAN.On():
		return "on"
	}
	return "off"
}

func (s *Server) showLAN(w http.ResponseWriter, _ *http.Request, _ Device) error {
	return reply(w, LANState{s.lan() == "on", s.addresses()}, nil)
}

// switchLAN lets them in, or keeps them out.
func (s *Server) switchLAN(w http.ResponseWriter, r *http.Request, d Device, g given) error {
	var said struct{ On *bool }
	if err := g.into(&said); err != nil || said.On == nil {
		return badf(`expected {"on":true} or {"on":false}`)
	}
	if s.opts.LAN == nil {
		return statusError{http.StatusConflict, "this hub was started with an address by which others reach it: --listen says which"}
	}
	if err := s.opts.LAN.Switch(*said.On); err != nil {
		return statusError{http.StatusConflict, clean.Line(err.Error())}
	}
	return s.showLAN(w, r, d)
}

// addPhone makes a link for a phone. The phone is a device of its own once it has
// logged in: it can answer, its receipts have its name, and it can be removed alone.
func (s *Server) addPhone(w http.ResponseWriter, r *http.Request, by Device, _ given) error {
	l := PhoneLink{LAN: s.lan()}
	addresses := s.addresses()
	if len(addresses) == 0 {
		return reply(w, l, nil)
	}
	// By which somebody has come already is the likeliest of all.
	if here := "://" + r.Host; slices.ContainsFunc(addresses, func(a string) bool { return strings.HasSuffix(a, here) }) {
		slices.SortStableFunc(addresses, func(x, y string) int {
			return rank(!strings.HasSuffix(x, here)) - rank(!strings.HasSuffix(y, here))
		})
	}
	code, err := s.access.newCode(&by, loginCode{Maker: by.Name, Groups: by.Groups})
	if err != nil {
		return err
	}
	l.Link, l.Others = addresses[0]+"/login?code="+code, addresses[1:]
	l.Plain, l.Fingerprint = strings.HasPrefix(addresses[0], "http:"), s.opts.Fingerprint
	l.Path, l.Size, err = drawQR(l.Link)
	return reply(w, l, err)
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
