package hands_test

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/internal/hub"
	"github.com/acp-bridge/acp-bridge/internal/hub/web"
)

// webkit is a window of WebKitGTK's MiniBrowser on a screen of its own, driven over WebDriver.
type webkit struct {
	t   *testing.T
	url string // of its session
}

// newWebKit opens a window, if WebKit is here. Its own bar is made so small that the window
// can be as narrow as a phone.
func newWebKit(t *testing.T, width int, dark bool) *webkit {
	driver, err := exec.LookPath("WebKitWebDriver")
	screen, noScreen := exec.LookPath("Xvfb")
	if err != nil || noScreen != nil {
		t.Skip("SKIPPED: WebKitWebDriver and Xvfb are not here (Debian has them in webkit2gtk-driver and xvfb)")
	}
	home := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(home, "gtk-3.0"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(home, "gtk-3.0", "gtk.css"), []byte(`* { min-width: 0; min-height: 0; padding: 0; margin: 0; border-width: 0; font-size: 2px; }`), 0o600))
	starts := func(pass *os.File, args ...string) {
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Env = append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME="+home)
		if pass != nil {
			cmd.ExtraFiles = []*os.File{pass}
		}
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // the browser is the driver's child
		require.NoError(t, cmd.Start())
		t.Cleanup(func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); _ = cmd.Wait() })
	}
	number, says := pipe(t)
	defer number.Close()
	starts(says, screen, "-displayfd", "3", "-screen", "0", "1600x1200x24", "-nolisten", "tcp")
	says.Close()
	display, err := bufio.NewReader(number).ReadString('\n')
	require.NoError(t, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	_, port, err := net.SplitHostPort(l.Addr().String())
	require.NoError(t, err)
	l.Close()
	starts(nil, "env", "DISPLAY=:"+strings.TrimSpace(display), driver, "--host=127.0.0.1", "--port="+port)

	w := &webkit{t: t, url: "http://127.0.0.1:" + port}
	require.Eventually(t, func() bool { return w.calls("GET", "/status", nil, nil) == nil }, patience, 50*time.Millisecond)
	args := []string{"--automation"}
	if dark {
		args = append(args, "--dark-mode")
	}
	var session struct{ SessionID string }
	w.call("POST", "/session", object{"capabilities": object{"alwaysMatch": object{"webkitgtk:browserOptions": object{"args": args}}}}, &session)
	w.url += "/session/" + session.SessionID
	t.Cleanup(func() { _ = w.calls("DELETE", "", nil, nil) })
	w.call("POST", "/window/rect", object{"width": width, "height": 900}, nil)
	return w
}

type object = map[string]any

// calls makes a call of WebDriver; the reply's value goes into v.
func (w *webkit) calls(method, path string, body, v any) error {
	data, err := json.Marshal(body)
	if err != nil {
		return err
	}
	req, err := http.NewRequest(method, w.url+path, bytes.NewReader(data))
	if err != nil {
		return err
	}
	reply, err := (&http.Client{Timeout: patience}).Do(req)
	if err != nil {
		return err
	}
	defer reply.Body.Close()
	var said struct{ Value json.RawMessage }
	if err := json.NewDecoder(reply.Body).Decode(&said); err != nil {
		return err
	}
	if reply.StatusCode != http.StatusOK {
		return fmt.Errorf("%s", said.Value)
	}
	if v == nil {
		return nil
	}
	return json.Unmarshal(said.Value, v)
}

func (w *webkit) call(method, path string, body, v any) {
	w.t.Helper()
	require.NoError(w.t, w.calls(method, path, body, v), "%s %s", path, body)
}

func (w *webkit) reads(script string, v any) {
	w.t.Helper()
	w.call("POST", "/execute/sync", object{"script": "return (" + script + ")", "args": []any{}}, v)
}

// try reports whether a script is true, on a page that may be changing under it.
func (w *webkit) try(script string) (yes bool) {
	return w.calls("POST", "/execute/sync", object{"script": "return Boolean(" + script + ")", "args": []any{}}, &yes) == nil && yes
}

// until waits until a script is true.
func (w *webkit) until(script string) {
	w.t.Helper()
	for end := time.Now().Add(15 * time.Second); ; time.Sleep(20 * time.Millisecond) { // the page has no other way to tell
		if w.try(script) {
			return
		}
		if time.Now().After(end) {
			w.shot("failed")
			var text string
			w.reads("document.body.innerText", &text)
			w.t.Fatalf("never true: %s\n%s", script, text)
		}
	}
}

// insists does something until it has come true: what is done to what has just moved counts
// for nothing, and a person does it again.
func (w *webkit) insists(script string, do func()) {
	w.t.Helper()
	for range 12 {
		do()
		for range 100 {
			if w.try(script) {
				return
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
	w.until(script)
}

// click presses the middle of an element, until a script is true.
func (w *webkit) click(selector, then string) {
	w.t.Helper()
	w.insists(then, func() {
		var at *struct{ X, Y float64 }
		w.until(`!document.querySelector(".moved")`)
		w.reads(fmt.Sprintf(`(() => { const e = document.querySelector(%q); e?.scrollIntoView({ block: "center", behavior: "instant" }); const b = e?.getBoundingClientRect(); return b && { X: b.x + b.width / 2, Y: b.y + b.height / 2 }; })()`, selector), &at)
		if at == nil {
			return
		}
		w.call("POST", "/actions", object{"actions": []object{{"type": "pointer", "id": "hand", "actions": []object{
			{"type": "pointerMove", "x": int(at.X), "y": int(at.Y), "duration": 300}, {"type": "pointerDown", "button": 0}, {"type": "pause", "duration": 60}, {"type": "pointerUp", "button": 0},
		}}}}, nil)
	})
}

// types presses a key for each letter.
func (w *webkit) types(text string) {
	w.t.Helper()
	var keys []object
	for _, c := range text {
		keys = append(keys, object{"type": "keyDown", "value": string(c)}, object{"type": "keyUp", "value": string(c)}, object{"type": "pause", "duration": 15})
	}
	w.call("POST", "/actions", object{"actions": []object{{"type": "key", "id": "keys", "actions": keys}}}, nil)
}

// shot keeps a picture of the window, if somebody wants to look at it.
func (w *webkit) shot(name string) {
	dir := os.Getenv("ACP_BRIDGE_SCREENSHOTS")
	if dir == "" {
		return
	}
	var picture string
	w.call("GET", "/screenshot", nil, &picture)
	data, err := base64.StdEncoding.DecodeString(picture)
	require.NoError(w.t, err)
	require.NoError(w.t, os.WriteFile(filepath.Join(dir, "webkit-"+name+".png"), data, 0o600))
}

// In WebKit, on screens of three widths: who logs in by a link answers each kind of card, by
// pointer and keys, and the page says nothing that is wrong.
func TestInWebKit(t *testing.T) {
	const enter = "\ue006"
	for width, dark := range map[int]bool{320: false, 390: true, 1280: false} {
		t.Run(fmt.Sprint(width), func(t *testing.T) {
			w, s := newWebKit(t, width, dark), newSite(t, hub.Options{})
			code, err := s.access.Code(web.Owner)
			require.NoError(t, err)
			w.call("POST", "/url", object{"url": s.url + "/login?code=" + code}, nil)
			w.click("main button", `document.documentElement.matches(".live.whole")`)
			w.reads(`(() => { window.wrong = []; console.error = (...what) => wrong.push(what.join());
				for (const kind of ["error", "unhandledrejection", "securitypolicyviolation"]) addEventListener(kind, (e) => wrong.push(kind + " " + (e.message ?? e.reason ?? e.violatedDirective)));
				return true; })()`, nil)
			w.until(fmt.Sprintf(`innerWidth === %d && matchMedia("(prefers-color-scheme: dark)").matches === %t`, width, dark))
			look := func(name string) {
				t.Helper()
				w.until(`document.documentElement.scrollWidth <= innerWidth`)
				w.shot(fmt.Sprint(name, "-", width))
			}
			shown := func(n int) {
				t.Helper()
				w.until(fmt.Sprintf(`document.querySelectorAll(".card:not(.over)").length === %d`, n))
			}
			const sending = `document.querySelector(".sending:not([hidden])")`

			r := s.ask("tap", db)
			shown(1)
			w.click(".option label", sending)
			look("undo")
			w.click(".undo", "!"+sending)
			s.open(r)
			w.click(`.option [value="1"]`, `document.querySelector(".receipt")`)
			require.Equal(t, []string{"SQLite"}, s.answered(r)[0].Selected)

			r = s.permit("reason", "Bash", "execute", "", object{"command": "rm -rf build"})
			shown(1)
			w.click(".acts .reject", `document.activeElement.matches(".reason textarea")`)
			w.types("always 1 ninja")
			look("reason")
			w.click(".reason .reject", `!document.querySelector(".card:not(.over)")`)
			require.Equal(t, []convert.Answer{{Selected: []string{"Reject"}, Note: "always 1 ninja"}}, s.answered(r))

			r = s.permit("plan", "ExitPlanMode", "switch_mode", "", object{"plan": plan}, func(a *hub.Asking) {
				a.About.Picks, a.Call.Questions[0].Options = []string{"allow_once", "allow_edited", "reject_once"}, []convert.Option{{Label: "Yes"}, {Label: "Yes, as I edited it"}, {Label: "No"}}
			})
			shown(1)
			look("plan")
			w.click(".dots", `document.querySelector(".also[open]")`)
			w.click(".edit summary", `document.activeElement.matches(".edit textarea")`)
			w.reads(`document.activeElement.setSelectionRange(0, 0)`, nil)
			w.types("# Mine")
			w.click(".acts .allow", `document.querySelector(".card .problem").innerText.startsWith("You have edited")`)
			w.click(".edit .allow", `!document.querySelector(".card:not(.over)")`)
			require.True(t, strings.HasPrefix(s.answered(r)[0].Note, "# Mine"), "%v", s.answered(r))

			r = s.ask("ticks", db, extras, free)
			shown(1)
			w.click(`[name=a0][value="1"]`, `document.querySelector("[name=a0]:checked")`)
			w.click(`[name=a1][value="0"]`, `document.querySelector("[name=a1]:checked")`)
			w.click(`[name=t1]`, `document.activeElement.name === "t1"`)
			w.types("and mail")
			w.click(".note summary", `document.activeElement.name === "n0"`)
			w.types("for now")
			w.click("[value=answer]", `document.activeElement.name === "t2"`)
			w.types("shop")
			w.click("[value=answer]", `!document.querySelector(".card:not(.over)")`)
			require.Equal(t, []convert.Answer{{Selected: []string{"SQLite"}, Note: "for now"}, {Selected: []string{"Auth"}, Text: "and mail"}, {Text: "shop"}}, s.answered(r))

			r = s.deployForm("form")
			shown(1)
			look("form")
			w.click("[name=t0]", `document.activeElement.name === "t0"`)
			w.types("shop")
			w.click(`[name=a1][value="0"]`, `document.querySelector("[name=a1]:checked")`)
			w.click("[name=t2]", `document.activeElement.matches("[type=number]")`)
			w.types("\ue010\ue0037") // End, Backspace: it was 3
			w.click("[value=answer]", `!document.querySelector(".card:not(.over)")`)
			require.Equal(t, "7", s.answered(r)[2].Text)

			a, b := s.permit("a", "Bash", "execute", "", object{"command": "echo a"}), s.permit("b", "Bash", "execute", "", object{"command": "echo b"})
			shown(2)
			w.reads(`scrollTo(0, document.body.scrollHeight), 0`, nil)
			w.until(`document.querySelector("main .bulk").textContent.includes("2")`)
			w.click("main .bulk", `document.querySelector("#bulk[open]")`)
			look("bulk")
			w.click("#bulk .allow", `document.querySelector(".many")`)
			w.click(".many .now", `!document.querySelector(".many")`)
			require.Equal(t, []string{"Allow", "Allow"}, append(s.answered(a)[0].Selected, s.answered(b)[0].Selected...))

			var list []*hub.Record
			for i := range 14 {
				list = append(list, s.permit(fmt.Sprint("c", i), "Bash", "execute", "", object{"command": fmt.Sprint("echo ", i)}))
			}
			w.until(`document.querySelectorAll(".row").length === 14`)
			look("lines")
			w.click(fmt.Sprintf(`[data-revision^="%d-"]`, list[3].Revision), `document.querySelector(".card:not(.row, .over) .allow:enabled")`)
			w.insists(`document.activeElement.matches(".allow")`, func() { w.types("a") })
			w.types(enter)
			w.until(sending)
			w.types("z")
			w.until("!" + sending)
			s.open(list...)
			w.click(".card:not(.row, .over) .allow", `document.querySelectorAll(".row").length === 12`)
			require.Equal(t, []string{"Allow"}, s.answered(list[3])[0].Selected)

			var wrong []string
			w.reads(`wrong`, &wrong)
			require.Empty(t, wrong)
			w.call("POST", "/url", object{"url": s.url + "/history"}, nil)
			w.until(`document.querySelectorAll(".past").length === 8`)
			look("history")
		})
	}
}
