package claude

import (
	"context"

	"github.com/tidwall/gjson"
)

// Settings are those of a running CLI that can change while it runs.
type Settings struct {
	// Model is the model of the next turn, as the API knows it.
	Model string
	// Effort is the level of effort of the next turn; empty for a model that
	// has none.
	Effort string
	// EffortSet reports whether settings name a level; otherwise Effort is the
	// model's own.
	EffortSet bool
	// Ultracode reports whether ultracode is on, UltracodeOffered whether it can
	// be turned on.
	Ultracode, UltracodeOffered bool
	// AutoOff is set if settings switch the mode auto off.
	AutoOff bool
	// Agent is the one that settings name for the main conversation.
	Agent string
}

// Settings asks the CLI for its settings. Old versions refuse.
func (p *Process) Settings(ctx context.Context) (Settings, error) {
	raw, err := p.Control(ctx, "get_settings", nil)
	if err != nil {
		return Settings{}, err
	}
	r := gjson.ParseBytes(raw)
	return Settings{
		Model:     r.Get("applied.model").String(),
		Effort:    r.Get("applied.effort").String(),
		EffortSet: r.Get("effective.effortLevel").Exists() || r.Get("effective.modelSettings").Exists(),

		Ultracode:        r.Get("applied.ultracodeRequested").Bool(),
		UltracodeOffered: r.Get("applied.ultracodeAvailable").Bool(),

		AutoOff: r.Get("effective.disableAutoMode").Str == "disable" || r.Get("effective.permissions.disableAutoMode").Str == "disable",

		Agent: r.Get("effective.agent").String(),
	}, nil
}

// ApplySettings changes settings of the running CLI, for its life; nil takes a
// change back. The CLI takes any value: one that it does not know has no effect.
func (p *Process) ApplySettings(ctx context.Context, settings map[string]any) error {
	_, err := p.Control(ctx, "apply_flag_settings", map[string]any{"settings": settings})
	return err
}

// SetMode changes the permission mode.
func (p *Process) SetMode(ctx context.Context, mode string) error {
	_, err := p.Control(ctx, "set_permission_mode", map[string]any{"mode": mode})
	return err
}

// SetModel changes the model of the turns to come.
func (p *Process) SetModel(ctx context.Context, model string) error {
	_, err := p.Control(ctx, "set_model", map[string]any{"model": model})
	return err
}
