package web

import (
	"encoding/json"
	"errors"
	"mime"
	"net/http"
	"net/url"
)

// showLogin shows the form that logs a browser in. Reading it uses no code up:
// whatever previews links may do so.
func (s *Server) showLogin(w http.ResponseWriter, r *http.Request) {
	s.loginPage(w, http.StatusOK, r.URL.Query().Get("code"), "")
}

func (s *Server) loginPage(w http.ResponseWriter, status int, code, problem string) {
	render(w, status, "login", map[string]string{"Code": code, "Problem": problem})
}

// login makes a session of a code or a token.
func (s *Server) login(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Origin") == "" && r.Header.Get("Sec-Fetch-Site") == "" {
		fail(w, http.StatusForbidden, "this request does not say where it comes from")
		return
	}
	form, ok := s.readForm(w, r)
	if !ok {
		return
	}
	session, ok, err := s.access.login(form.Get("code"), form.Get("token"))
	switch {
	case err != nil:
		s.failed(w, err)
	case !ok && s.throttled(r):
		tooMany(w)
	case !ok:
		s.loginPage(w, http.StatusUnauthorized, "", "That code or token does not work. A login link works once, for 15 minutes.")
	default:
		http.SetCookie(w, &http.Cookie{
			Name: s.access.cookie(), Value: session, Path: "/", MaxAge: int(sessionTime.Seconds()),
			HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: s.opts.Secure,
		})
		http.Redirect(w, r, "/", http.StatusSeeOther)
	}
}

func (s *Server) logout(w http.ResponseWriter, r *http.Request, _ Device) {
	if c, err := r.Cookie(s.access.cookie()); err == nil {
		if err := s.access.logout(c.Value); err != nil {
			s.failed(w, err)
			return
		}
	}
	http.SetCookie(w, &http.Cookie{Name: s.access.cookie(), Path: "/", MaxAge: -1, HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: s.opts.Secure})
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

// readForm reads the body of an HTML form.
func (s *Server) readForm(w http.ResponseWriter, r *http.Request) (url.Values, bool) {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "application/x-www-form-urlencoded" {
		fail(w, http.StatusUnsupportedMediaType, "expected a form")
		return nil, false
	}
	body, ok := s.readBody(w, r)
	if !ok {
		return nil, false
	}
	form, err := url.ParseQuery(string(body))
	if err != nil {
		fail(w, http.StatusBadRequest, "the form cannot be read")
		return nil, false
	}
	return form, true
}

func (s *Server) listDevices(w http.ResponseWriter, _ *http.Request, _ Device) {
	reply(w, http.StatusOK, map[string]any{"devices": s.access.List()})
}

func (s *Server) addDevice(w http.ResponseWriter, r *http.Request, _ Device) {
	var d Device
	if !s.readInto(w, r, &d) {
		return
	}
	token, err := s.access.Add(d.Name, d.Can, d.Groups...)
	if err != nil {
		s.failed(w, err)
		return
	}
	reply(w, http.StatusOK, map[string]string{"token": token})
}

func (s *Server) removeDevice(w http.ResponseWriter, r *http.Request, _ Device) {
	switch err := s.access.Remove(r.PathValue("name")); {
	case errors.Is(err, ErrNoDevice):
		fail(w, http.StatusNotFound, "%s", err)
	case err != nil:
		s.failed(w, err)
	}
}

func (s *Server) addCode(w http.ResponseWriter, r *http.Request, _ Device) {
	var d Device
	if !s.readInto(w, r, &d) {
		return
	}
	code, err := s.access.Code(d.Name)
	switch {
	case errors.Is(err, ErrNoDevice):
		fail(w, http.StatusNotFound, "%s", err)
		return
	case err != nil:
		s.failed(w, err)
		return
	}
	reply(w, http.StatusOK, map[string]string{"code": code})
}

func (s *Server) readInto(w http.ResponseWriter, r *http.Request, v any) bool {
	body, ok := s.readJSON(w, r)
	if !ok {
		return false
	}
	if err := json.Unmarshal(body, v); err != nil {
		s.failed(w, badf("%w", err))
		return false
	}
	return true
}
