package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
)

type session struct {
	b       *bridge
	id      string
	opening json.RawMessage // the editor's session/new
	prompt  json.RawMessage // the editor's session/prompt
	in      *os.File
}

type cliMessage struct {
	Type      string
	RequestID string `json:"request_id"`
	Event     struct {
		Delta struct{ Type, Text string }
	}
	Request struct {
		ToolUseID string `json:"tool_use_id"`
		Input     json.RawMessage
	}
}

func (s *session) write(line string) { s.in.WriteString(line + "\n") }

func (s *session) read(r *bufio.Reader) {
	var long []byte
	for {
		line, err := r.ReadSlice('\n')
		if err == bufio.ErrBufferFull {
			long = append(long, line...)
			continue
		}
		if err != nil {
			return
		}
		if len(long) > 0 {
			line = append(long, line...)
			long = nil
		}
		var m cliMessage
		if err := json.Unmarshal(bytes.TrimSpace(line), &m); err != nil {
			fmt.Fprintln(os.Stderr, "minimal:", err)
			os.Exit(1)
		}
		s.take(m, r.Buffered() == 0)
	}
}

type chunk struct {
	Jsonrpc string `json:"jsonrpc"`
	Method  string `json:"method"`
	Params  struct {
		SessionID string `json:"sessionId"`
		Update    struct {
			SessionUpdate string `json:"sessionUpdate"`
			Content       struct {
				Type string `json:"type"`
				Text string `json:"text"`
			} `json:"content"`
		} `json:"update"`
	} `json:"params"`
}

// take handles a message. last says that no more has been read: what was
// written has to go out.
func (s *session) take(m cliMessage, last bool) {
	switch {
	case m.Type == "stream_event" && m.Event.Delta.Type == "text_delta":
		c := chunk{Jsonrpc: "2.0", Method: "session/update"}
		c.Params.SessionID = s.id
		c.Params.Update.SessionUpdate = "agent_message_chunk"
		c.Params.Update.Content.Type, c.Params.Update.Content.Text = "text", m.Event.Delta.Text
		line, _ := json.Marshal(c)
		s.b.send(line, last)
	case m.Type == "control_request":
		s.ask(m)
	case m.Type == "control_response":
		s.b.answer(s.opening, `{"sessionId":"`+s.id+`"}`)
	case m.Type == "result":
		s.b.mu.Lock()
		prompt := s.prompt
		s.b.mu.Unlock()
		s.b.answer(prompt, `{"stopReason":"end_turn"}`)
	case last:
		s.b.writing.Lock()
		s.b.out.Flush()
		s.b.writing.Unlock()
	}
}

type question struct {
	Questions []struct {
		Question string
		Header   string
		Options  []struct{ Label, Description string }
	}
}

type option struct {
	Kind     string `json:"kind"`
	Name     string `json:"name"`
	OptionID string `json:"optionId"`
}

type permission struct {
	Jsonrpc string `json:"jsonrpc"`
	ID      int    `json:"id"`
	Method  string `json:"method"`
	Params  struct {
		SessionID string `json:"sessionId"`
		ToolCall  struct {
			ToolCallID string `json:"toolCallId"`
			Title      string `json:"title"`
			Kind       string `json:"kind"`
			Status     string `json:"status"`
			Content    [1]struct {
				Type    string `json:"type"`
				Content struct {
					Type string `json:"type"`
					Text string `json:"text"`
				} `json:"content"`
			} `json:"content"`
		} `json:"toolCall"`
		Options []option `json:"options"`
	} `json:"params"`
}

// ask forwards the first question of a call.
func (s *session) ask(m cliMessage) {
	var call question
	if err := json.Unmarshal(m.Request.Input, &call); err != nil || len(call.Questions) == 0 {
		fmt.Fprintln(os.Stderr, "minimal: no question:", err)
		os.Exit(1)
	}
	q := call.Questions[0]
	p := permission{Jsonrpc: "2.0", Method: "session/request_permission"}
	p.Params.SessionID = s.id
	t := &p.Params.ToolCall
	t.ToolCallID, t.Title, t.Kind, t.Status = m.Request.ToolUseID, q.Header, "other", "pending"
	t.Content[0].Type, t.Content[0].Content.Type, t.Content[0].Content.Text = "content", "text", q.Question
	for _, o := range q.Options {
		p.Params.Options = append(p.Params.Options, option{"allow_once", o.Label + " - " + o.Description, o.Label})
	}
	s.b.mu.Lock()
	s.b.last++
	p.ID = s.b.last
	s.b.asked[p.ID] = func(label string) { s.reply(m, q.Question, label) }
	s.b.mu.Unlock()
	line, _ := json.Marshal(p)
	s.b.send(line, true)
}

// reply allows the call, with the answer added to its input.
func (s *session) reply(m cliMessage, text, label string) {
	answers, _ := json.Marshal(map[string]string{text: label})
	input := bytes.TrimSuffix(m.Request.Input, []byte("}"))
	s.write(`{"type":"control_response","response":{"subtype":"success","request_id":"` + m.RequestID +
		`","response":{"behavior":"allow","updatedInput":` + string(input) + `,"answers":` + string(answers) + `}}}}`)
}
