package web

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"github.com/acp-bridge/acp-bridge/display/clean"
)

// showLogin shows the form that logs a browser in. Reading it uses no code up:
// whatever previews links may do so.
func (s *Server) showLogin(w http.ResponseWriter, r *http.Request) error {
	return loginPage(w, http.StatusOK, r.URL.Query().Get("code"), "")
}

func loginPage(w http.ResponseWriter, status int, code, problem string) error {
	return render(w, status, "login", map[string]string{"Code": code, "Problem": problem})
}

// login makes a session of a code or a token.
func (s *Server) login(w http.ResponseWriter, r *http.Request) error {
	if r.Header.Get("Origin") == "" && r.Header.Get("Sec-Fetch-Site") == "" {
		return errNoOrigin
	}
	form, err := s.loginForm(w, r)
	if err != nil {
		return err
	}
	in, ok, err := s.access.login(form.Get("code"), form.Get("token"))
	switch {
	case err != nil:
		return err
	case !ok && s.throttled(r):
		return tooMany(w)
	case !ok:
		return loginPage(w, http.StatusUnauthorized, "", "That code or token does not work. A login link works once, for 15 minutes.")
	}
	http.SetCookie(w, &http.Cookie{
		Name: s.access.cookie(), Value: in.cookie, Path: "/", MaxAge: int(sessionTime.Seconds()),
		HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: s.opts.Secure,
	})
	if !in.may([]Can{CanAnswer}) {
		return home(w, r)
	}
	return show(w, "page", s.waiting(in.Device, view{secret: in.secret}))
}

// home sends a browser to the page.
func home(w http.ResponseWriter, r *http.Request) error {
	http.Redirect(w, r, "/", http.StatusSeeOther)
	return nil
}

// pageHeader and pageField say what a page knows beside the cookie, in a request of
// its script and in a form.
const pageHeader, pageField = "Acp-Bridge-Page", "page"

var errPage = statusError{http.StatusForbidden, "this page has lost its login: log in again"}

// ofPage reports whether a change comes from the page that belongs to a login.
func ofPage(r *http.Request, d Device, g given) bool {
	return d.knows(cmp.Or(r.Header.Get(pageHeader), g.form.Get(pageField)))
}

// showAgain shows the page to a browser without scripts, which keeps what it knows in
// its forms.
func (s *Server) showAgain(w http.ResponseWriter, _ *http.Request, d Device, g given) error {
	return show(w, "page", s.waiting(d, viewOf(g.form)))
}

// maxLogin is more than the form of a login has: it is read before anybody is known.
const maxLogin = 4 << 10

func (s *Server) loginForm(w http.ResponseWriter, r *http.Request) (url.Values, error) {
	if r.URL.RawQuery != "" {
		return nil, badf("unknown parameter %q: expected none", clean.Truncate(clean.Line(r.URL.RawQuery), 80))
	}
	if _, err := formBody.kind(r); err != nil {
		return nil, err
	}
	data, err := s.readUpTo(w, r, maxLogin)
	if err != nil {
		return nil, err
	}
	return readForm(data, "code token")
}

func (s *Server) logout(w http.ResponseWriter, r *http.Request, _ Device, _ given) error {
	if c, err := r.Cookie(s.access.cookie()); err == nil {
		if err := s.access.logout(c.Value); err != nil {
			return err
		}
	}
	http.SetCookie(w, &http.Cookie{Name: s.access.cookie(), Path: "/", MaxAge: -1, HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: s.opts.Secure})
	return home(w, r)
}

func (s *Server) listDevices(w http.ResponseWriter, _ *http.Request, _ Device) error {
	return reply(w, map[string]any{"devices": s.access.List()}, nil)
}

func (s *Server) addDevice(w http.ResponseWriter, _ *http.Request, by Device, g given) error {
	var d struct {
		Name   string
		Can    Can
		Groups []string
	}
	if err := g.into(&d); err != nil {
		return err
	}
	token, err := s.access.add(&by, d.Name, d.Can, d.Groups)
	return reply(w, map[string]string{"token": token}, err)
}

func (s *Server) removeDevice(_ http.ResponseWriter, r *http.Request, by Device, _ given) error {
	if err := s.access.remove(&by, r.PathValue("name")); err != nil {
		return err
	}
	return s.Abandon(context.WithoutCancel(r.Context()))
}

// Abandon ends what devices have asked that were removed, also while no hub ran: the next
// one of the same name is another.
func (s *Server) Abandon(ctx context.Context) error {
	for _, name := range s.access.removed() {
		err := s.board.Abandon(ctx, name)
		if err == nil {
			err = s.access.change(nil, func(k *kept) error {
				k.Removed = slices.DeleteFunc(slices.Clone(k.Removed), func(n string) bool { return n == name })
				return nil
			})
		}
		if err != nil {
			return fmt.Errorf("end what device %s has asked: %w", nameOf(name), err)
		}
	}
	return nil
}

func (s *Server) addCode(w http.ResponseWriter, _ *http.Request, by Device, g given) error {
	var d struct{ Name string }
	if err := g.into(&d); err != nil {
		return err
	}
	code, err := s.access.code(&by, d.Name)
	return reply(w, map[string]string{"code": code}, err)
}
