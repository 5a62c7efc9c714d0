package claudetest

import (
	_ "embed"
	"encoding/json"
	"maps"
	"os"
)

// What the CLI says of itself when it is initialized, and at the beginning of a turn.
var (
	//go:embed initialized.json
	initialized []byte
	//go:embed init.json
	beginning []byte
)

// with is a fixture and more.
func with(fixture []byte, more object) (all object) {
	if err := json.Unmarshal(fixture, &all); err != nil {
		panic(err)
	}
	maps.Copy(all, more)
	return all
}

func (e *engine) initReply() object {
	mode, _ := e.now()
	reply := with(initialized, object{"pid": os.Getpid(), "current_permission_mode": mode})
	maps.Copy(reply, e.script.Init)
	maps.DeleteFunc(reply, func(_ string, v any) bool { return v == nil })
	return reply
}

func (e *engine) initMessage() object {
	cwd, _ := os.Getwd()
	mode, model := e.now()
	message := with(beginning, object{"cwd": cwd, "model": model, "permissionMode": mode})
	if e.script.Old {
		message["capabilities"] = nil
	}
	return message
}
