package dialect

import (
	"strings"

	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/convert"
)

// isCopilotForm reports whether ask_user is called with a form, as newer
// versions of Copilot do where their host has forms.
func isCopilotForm(d document) bool { return d.input.Get("requestedSchema").Exists() }

func (copilot) fits(d document, o convert.Outcome) error {
	if !isCopilotForm(d) {
		return nil
	}
	_, err := formReply(d.input, o)
	return err
}

// copilotFormResult is the value of a form's only field, or all of them by
// their keys.
func copilotFormResult(d document, o convert.Outcome) Result {
	reply, err := formReply(d.input, o)
	switch {
	case err != nil:
		return Result{Body: []byte(copilotError + err.Error()), IsError: true}
	case o.Status == convert.Cancelled:
		return Result{Body: []byte("User cancelled the request.")}
	case o.Status == convert.Declined, gjson.GetBytes(reply, "action").Str == "decline":
		return Result{Body: []byte("User declined the request.")}
	case o.Status != convert.Answered:
		return Result{Body: []byte(copilotError + o.Message()), IsError: true}
	}
	var keys, values []string
	gjson.GetBytes(reply, "content").ForEach(func(k, v gjson.Result) bool {
		value := v.String()
		if v.IsArray() {
			var list []string
			for _, item := range v.Array() {
				list = append(list, item.String())
			}
			value = strings.Join(list, ", ")
		}
		keys, values = append(keys, k.Str), append(values, value)
		return true
	})
	if len(values) == 1 {
		return Result{Body: []byte(copilotResponded + values[0])}
	}
	for i := range values {
		values[i] = keys[i] + "=" + values[i]
	}
	return Result{Body: []byte(copilotResponded + strings.Join(values, ", "))}
}
