// Command minimal is the least that can stand between an ACP editor and Claude
// Code: it forwards text and questions and knows nothing else. It is written
// with the standard library alone, as a lower bound for benchmarks. It trusts
// both sides, loses what it does not know, and must not be used.
package main

import (
	"bufio"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"sync"
)

func main() {
	b := &bridge{out: bufio.NewWriterSize(os.Stdout, 64<<10), sessions: map[string]*session{}, asked: map[int]func(string){}}
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(make([]byte, 0, 16<<10), 64<<20)
	for in.Scan() {
		var m editorMessage
		if err := json.Unmarshal(in.Bytes(), &m); err != nil {
			fmt.Fprintln(os.Stderr, "minimal:", err)
			os.Exit(1)
		}
		b.take(m)
	}
}

type bridge struct {
	writing sync.Mutex // not mu: whoever reads the editor must not wait for it to read
	out     *bufio.Writer

	mu       sync.Mutex
	sessions map[string]*session
	asked    map[int]func(option string)
	last     int
}

type editorMessage struct {
	ID     json.RawMessage
	Method string
	Params struct {
		SessionID string
		Cwd       string
		Prompt    json.RawMessage
	}
	Result struct{ Outcome struct{ OptionID string } }
}

func (b *bridge) take(m editorMessage) {
	switch m.Method {
	case "initialize":
		b.answer(m.ID, `{"protocolVersion":1,"agentCapabilities":{},"authMethods":[]}`)
	case "session/new":
		if err := b.open(m.ID, m.Params.Cwd); err != nil {
			fmt.Fprintln(os.Stderr, "minimal:", err)
			os.Exit(1)
		}
	case "session/prompt":
		b.mu.Lock()
		s := b.sessions[m.Params.SessionID]
		s.prompt = m.ID
		b.mu.Unlock()
		s.write(`{"type":"user","message":{"role":"user","content":` + string(m.Params.Prompt) + `},"parent_tool_use_id":null,"session_id":""}`)
	case "":
		id, _ := strconv.Atoi(string(m.ID))
		b.mu.Lock()
		reply := b.asked[id]
		delete(b.asked, id)
		b.mu.Unlock()
		reply(m.Result.Outcome.OptionID)
	}
}

func (b *bridge) answer(id json.RawMessage, result string) {
	b.send([]byte(`{"jsonrpc":"2.0","id":`+string(id)+`,"result":`+result+`}`), true)
}

func (b *bridge) send(line []byte, flush bool) {
	b.writing.Lock()
	defer b.writing.Unlock()
	b.out.Write(line)
	b.out.WriteByte('\n')
	if flush {
		b.out.Flush()
	}
}

// open starts the CLI; its reply to initialize answers session/new.
func (b *bridge) open(id json.RawMessage, cwd string) error {
	name := rand.Text()
	cmd := exec.Command(os.Getenv("ACP_BRIDGE_CLAUDE"), "--output-format", "stream-json", "--verbose", "--input-format", "stream-json",
		"--permission-prompt-tool", "stdio", "--include-partial-messages")
	cmd.Dir = cwd
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	s := &session{b: b, id: name, opening: id, in: stdin.(*os.File)}
	b.mu.Lock()
	b.sessions[name] = s
	b.mu.Unlock()
	s.write(`{"type":"control_request","request_id":"1","request":{"subtype":"initialize","hooks":{}}}`)
	go s.read(bufio.NewReaderSize(stdout, 16<<10))
	return nil
}
