package hublink

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// What was named and is answered already is not another question whose id begins so.
func TestAnIDIsNotAbbreviatedByAnother(t *testing.T) {
	for _, c := range []struct {
		name, id string
		want     bool
	}{
		{"toolu_01Ab", "toolu_01AbCdEf", true},
		{"0199a1b2", "0199a1b2-0000-7000-8000-00000000abcd", true},
		{"q1", "q10", false},
		{"t1", "t1-staging-in-europe", false},
		{"production", "production-eu", false},
		{"toolu_02Ab", "toolu_01AbCdEf", false},
		{"", "toolu_01AbCdEf", false},
	} {
		require.Equal(t, c.want, abbreviates(c.name, c.id), "%s %s", c.name, c.id)
	}
}
