package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
)

// wire is a connection to a hub that sends one request after another. It knows no
// more of HTTP than a hub's replies need, so that thousands of them leave the
// machine to the hub.
type wire struct {
	host, token string
	conn        net.Conn
	in          *bufio.Reader
	out         []byte
}

func dial(host, token string) (*wire, error) {
	conn, err := net.Dial("tcp", host)
	if err != nil {
		return nil, err
	}
	return &wire{host: host, token: token, conn: conn, in: bufio.NewReaderSize(conn, 2<<10)}, nil
}

func (w *wire) close() { w.conn.Close() }

// post sends JSON and returns the reply, which is good until the next one.
func (w *wire) post(path, body string) (status int, data []byte, err error) {
	w.send("POST", path, body)
	if _, err := w.conn.Write(w.out); err != nil {
		return 0, nil, err
	}
	status, length, err := w.head()
	if err != nil {
		return 0, nil, err
	}
	if length < 0 {
		return 0, nil, fmt.Errorf("%s: expected a reply with a Content-Length", path)
	}
	w.out = append(w.out[:0], make([]byte, length)...)
	_, err = io.ReadFull(w.in, w.out)
	return status, w.out, err
}

func (w *wire) send(method, path, body string) {
	w.out = fmt.Appendf(w.out[:0], "%s %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n", method, path, w.host, w.token)
	if method == "POST" {
		w.out = fmt.Appendf(w.out, "Content-Type: application/json\r\nContent-Length: %d\r\n", len(body))
	}
	w.out = append(append(w.out, "\r\n"...), body...)
}

// head reads a status and headers. length is -1 if they do not tell.
func (w *wire) head() (status, length int, err error) {
	line, err := w.in.ReadSlice('\n')
	if err != nil {
		return 0, 0, err
	}
	if len(line) < 12 || !bytes.HasPrefix(line, []byte("HTTP/1.1 ")) {
		return 0, 0, fmt.Errorf("expected a reply of HTTP/1.1, got %q", line)
	}
	if status, err = strconv.Atoi(string(line[9:12])); err != nil {
		return 0, 0, err
	}
	for length = -1; ; {
		line, err := w.in.ReadSlice('\n')
		if err != nil {
			return 0, 0, err
		}
		name, value, _ := strings.Cut(strings.TrimSpace(string(line)), ":")
		switch {
		case name == "":
			return status, length, nil
		case strings.EqualFold(name, "Content-Length"):
			if length, err = strconv.Atoi(strings.TrimSpace(value)); err != nil {
				return 0, 0, err
			}
		}
	}
}

// stream asks for a stream of events, which is read as it comes.
func (w *wire) stream(path string) (io.Reader, error) {
	w.send("GET", path, "")
	if _, err := w.conn.Write(w.out); err != nil {
		return nil, err
	}
	in := bufio.NewReaderSize(w.conn, 64<<10)
	reply, err := http.ReadResponse(in, nil)
	if err != nil {
		return nil, err
	}
	if reply.StatusCode != http.StatusOK {
		reply.Body.Close()
		return nil, fmt.Errorf("GET %s: %s", path, reply.Status)
	}
	return reply.Body, nil
}
