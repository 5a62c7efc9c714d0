package hubstore

import (
	"errors"
	"fmt"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
)

// What servers of a cluster say of a bucket that another hub makes just now is not
// the end of a start.
func TestSoon(t *testing.T) {
	for _, err := range []error{
		&jetstream.APIError{Code: 404, ErrorCode: 10059, Description: "stream not found"},
		&jetstream.APIError{Code: 503, ErrorCode: 10008, Description: "JetStream system temporarily unavailable"},
		nats.ErrNoResponders, jetstream.ErrBucketExists,
		errors.Join(jetstream.ErrBucketExists, &jetstream.APIError{Code: 400, ErrorCode: 10058, Description: "stream name already in use"}),
	} {
		require.True(t, soon(fmt.Errorf("bucket: %w", err)), err)
	}
	for _, err := range []error{
		&jetstream.APIError{Code: 400, ErrorCode: 10052, Description: "replicas > 1 not supported in non-clustered mode"},
		&jetstream.APIError{Code: 404, ErrorCode: 10037, Description: "no message found"},
		errors.New("another"),
	} {
		require.False(t, soon(err), err)
	}
}
