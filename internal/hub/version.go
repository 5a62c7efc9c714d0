package hub

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"strings"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/convert/dialect"
	"github.com/acp-bridge/acp-bridge/display/clean"
)

// version is that of the records that are written. A field more needs no new one:
// hubs that do not know it keep it as it is. One that must not be passed over
// does, and older hubs leave such records alone.
const version = 4

// forgottenVersion is that of records whose answer was removed: a hub that knows
// nothing of that would hand out an empty answer as the person's.
const forgottenVersion = 2

// redactedVersion is that of records whose answers are not all that was typed: such a
// hub would hand out what stands there instead as the person's.
const redactedVersion = 3

// documentVersion is that of records whose call is in their document alone: such a hub
// would show a question without words.
const documentVersion = 4

// rest is what a record has beyond what this hub knows of, in the words of the
// hub that wrote it.
type rest map[string]json.RawMessage

func decode(key string, value []byte, revision uint64) (*Record, error) {
	value, err := unpack(value)
	if err != nil {
		return nil, fmt.Errorf("record %q: %w", key, unreadable(err))
	}
	r := &Record{key: key, Revision: revision, size: len(value)}
	strict := json.NewDecoder(bytes.NewReader(value))
	strict.DisallowUnknownFields()
	if strict.Decode(r) == nil && r.Version <= version {
		return r, r.readCall()
	}
	r = &Record{key: key, Revision: revision, size: len(value)}
	if err := json.Unmarshal(value, r); err != nil {
		return nil, fmt.Errorf("record %q: %w", key, unreadable(err))
	}
	if r.Version > version {
		return nil, fmt.Errorf("record %q: expected version %d at most, got %d: a newer hub wrote it", key, version, r.Version)
	}
	if err := json.Unmarshal(value, &r.rest); err != nil {
		return nil, fmt.Errorf("record %q: %w", key, unreadable(err))
	}
	if r.End != nil {
		if err := json.Unmarshal(r.rest["end"], &r.End.rest); err != nil {
			return nil, fmt.Errorf("record %q: %w", key, unreadable(err))
		}
		forget(r.End.rest, reflect.TypeFor[End]())
	}
	return r, r.readCall()
}

// readCall reads the call of a record that has it in its document alone.
func (r *Record) readCall() error {
	if r.inDocument = len(r.Call.Questions) == 0; !r.inDocument {
		return nil
	}
	call, err := r.documented()
	if err != nil {
		return fmt.Errorf("record %q: its document is no call of its dialect", r.key)
	}
	r.Call = call
	return nil
}

// documented is the call of a record's document.
func (r *Record) documented() (convert.Call, error) {
	req, err := dialect.Decode(r.Document, r.Dialect)
	req.Call.Session, req.Call.Input = "", nil
	return req.Call, err
}

// encode writes a record. What is asked never changes: of a record with more in
// it than this hub knows, all but who has it and the end stays as it was written.
func (r *Record) encode() []byte {
	if r.rest == nil {
		kept := *r
		if r.inDocument {
			kept.Call = convert.Call{}
		}
		return clean.JSON(&kept)
	}
	all := maps.Clone(r.rest)
	delete(all, "end")
	for name, value := range map[string]any{"version": r.Version, "asker": r.Asker, "as": r.As, "shown": r.Shown} {
		if delete(all, name); !reflect.ValueOf(value).IsZero() {
			all[name] = clean.JSON(value)
		}
	}
	if r.End != nil {
		if all["about"] != nil {
			all["about"] = clean.JSON(r.About.Kept())
		}
		var end rest
		_ = json.Unmarshal(clean.JSON(r.End), &end) // what was just written
		maps.Copy(end, r.End.rest)
		all["end"] = clean.JSON(end)
	}
	return clean.JSON(all)
}

// forget drops the fields that a type has.
func forget(m rest, t reflect.Type) {
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		delete(m, name)
	}
}

// unreadable says what is wrong with a record, without a word of it: it goes into
// a log.
func unreadable(err error) error {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return fmt.Errorf("it is not JSON at byte %d", syntax.Offset)
	case errors.As(err, &kind):
		return fmt.Errorf("expected %s in the field %q", kind.Type, kind.Field)
	}
	return errors.New("a field has a value that cannot be read")
}
