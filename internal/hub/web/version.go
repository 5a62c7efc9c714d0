package web

import (
	"encoding/json"
	"maps"
	"reflect"
	"strings"
)

// accessVersion is that of what is kept about who may use a hub. A field more
// needs no new one: hubs that do not know it keep it as it is. One that must not
// be passed over does, and older hubs leave the value alone.
const accessVersion = 1

// rest is what a value has beyond what this hub knows of, in the words of the hub
// that wrote it.
type rest map[string]json.RawMessage

// The types without their methods, which would call themselves.
type (
	plainKept    kept
	plainDevice  keptDevice
	plainSession loginSession
)

func (k *kept) UnmarshalJSON(data []byte) error {
	return unmarshal(data, (*plainKept)(k), &k.rest)
}
func (k kept) MarshalJSON() ([]byte, error) { return marshal(plainKept(k), k.rest) }

func (d *keptDevice) UnmarshalJSON(data []byte) error {
	return unmarshal(data, (*plainDevice)(d), &d.rest)
}
func (d keptDevice) MarshalJSON() ([]byte, error) { return marshal(plainDevice(d), d.rest) }

func (s *loginSession) UnmarshalJSON(data []byte) error {
	return unmarshal(data, (*plainSession)(s), &s.rest)
}
func (s loginSession) MarshalJSON() ([]byte, error) { return marshal(plainSession(s), s.rest) }

// unmarshal reads a value, and what it does not know into more.
func unmarshal[T any](data []byte, v *T, more *rest) error {
	if err := json.Unmarshal(data, v); err != nil {
		return err
	}
	all := rest{}
	if err := json.Unmarshal(data, &all); err != nil {
		return err
	}
	forget(all, reflect.TypeFor[T]())
	*more = nil
	if len(all) > 0 {
		*more = all
	}
	return nil
}

func marshal(v any, more rest) ([]byte, error) {
	data, err := json.Marshal(v)
	if err != nil || more == nil {
		return data, err
	}
	all := maps.Clone(more)
	if err := json.Unmarshal(data, &all); err != nil {
		return nil, err
	}
	return json.Marshal(all)
}

// forget drops the fields that a type has.
func forget(m rest, t reflect.Type) {
	for f := range t.Fields() {
		if f.Anonymous {
			forget(m, f.Type)
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		delete(m, name)
	}
}
