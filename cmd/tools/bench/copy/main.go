// Command copy is the floor for a proxy: it starts an agent and copies lines
// between it and the editor, and looks at none of them.
//
//	copy -- AGENT ARGUMENTS
//	copy agent N      # an agent whose every turn is a text of N pieces
package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
)

func main() {
	var err error
	switch args := os.Args[1:]; {
	case len(args) == 2 && args[0] == "agent":
		var n int
		if n, err = strconv.Atoi(args[1]); err == nil {
			err = agent(n, os.Stdin, os.Stdout)
		}
	case len(args) > 1 && args[0] == "--":
		err = proxy(exec.Command(args[1], args[2:]...))
	default:
		err = fmt.Errorf("usage: copy -- AGENT ARGUMENTS, or copy agent N")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "copy:", err)
		os.Exit(1)
	}
}

func proxy(cmd *exec.Cmd) error {
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() {
		_ = lines(in, os.Stdin)
		in.Close()
	}()
	if err := lines(os.Stdout, out); err != nil {
		return err
	}
	return cmd.Wait()
}

// lines copies each line as it comes.
func lines(w io.Writer, r io.Reader) error {
	for b := bufio.NewReaderSize(r, 64<<10); ; {
		line, err := b.ReadSlice('\n')
		if len(line) > 0 {
			if _, err := w.Write(line); err != nil {
				return err
			}
		}
		if err != nil && err != bufio.ErrBufferFull {
			if err == io.EOF {
				return nil
			}
			return err
		}
	}
}

// agent answers every request, a prompt after a text.
func agent(n int, r io.Reader, w io.Writer) error {
	for s := bufio.NewScanner(r); s.Scan(); {
		result := `{"protocolVersion":1,"sessionId":"s","stopReason":"end_turn"}`
		if bytes.Contains(s.Bytes(), []byte(`"session/prompt"`)) {
			for i := range n {
				_, err := fmt.Fprintf(w, `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"%d "}}}}`+"\n", i)
				if err != nil {
					return err
				}
			}
		}
		if id := idOf(s.Bytes()); id != nil {
			if _, err := fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", id, result); err != nil {
				return err
			}
		}
	}
	return nil
}

// idOf is the id of a request of the benchmark's client.
func idOf(line []byte) []byte {
	_, rest, ok := bytes.Cut(line, []byte(`"id":`))
	if !ok {
		return nil
	}
	id, _, _ := bytes.Cut(rest, []byte(","))
	return id
}
