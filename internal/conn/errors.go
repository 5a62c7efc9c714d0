package conn

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/coder/acp-go-sdk"
	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/internal/conn/ndjson"
)

var (
	// ErrClosed is wrapped by the error of everything that fails because the
	// connection ended: the peer closed it, a write failed, or Close was called.
	// It wraps [io.ErrClosedPipe], so that code that does not know this package
	// can tell: the error may be there before Done is.
	ErrClosed error = closed{}

	// ErrProtocol is wrapped by the error of a call whose answer came but is
	// not one: malformed, over the line limit, or of a shape that means nothing.
	ErrProtocol = errors.New("invalid reply")
)

var (
	errClosedHere = errors.New("closed on this side")
	errReaderGone = errors.New("a handler ended the reader's goroutine")
	errNotReading = errors.New("the peer sends but does not read")
)

type closed struct{}

func (closed) Error() string { return "connection closed" }
func (closed) Unwrap() error { return io.ErrClosedPipe }

func closedError(cause error) error { return fmt.Errorf("%w: %w", ErrClosed, cause) }

// cancelledError is what a call returns when its ctx ended. errors.Is holds for
// ctx.Err() and for the cause, which alone would hide that it was a cancel.
func cancelledError(ctx context.Context, method string) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if errors.Is(err, cause) {
		return fmt.Errorf("%s: %w", method, err)
	}
	return fmt.Errorf("%s: %w: %w", method, err, cause)
}

// PeerError reads the error member of a response. Peers send strings and other
// things that are no error objects; whatever is there, it is an error.
func PeerError(v gjson.Result) *acp.RequestError {
	re := &acp.RequestError{Code: ndjson.Internal}
	if !v.IsObject() {
		re.Message = v.String()
		return re
	}
	v.ForEach(func(key, val gjson.Result) bool {
		switch key.Str {
		case "code":
			if val.Type == gjson.Number && val.Num == math.Trunc(val.Num) && math.Abs(val.Num) <= math.MaxInt32 {
				re.Code = int(val.Num)
			}
		case "message":
			re.Message = val.String()
		case "data":
			var data any
			if json.Unmarshal([]byte(val.Raw), &data) == nil {
				re.Data = data
			}
		}
		return true
	})
	re.Message = cmp.Or(re.Message, "error without a message")
	return re
}

// replyError is the error that answers a request whose handler returned err.
func replyError(ctx context.Context, err error) *acp.RequestError {
	var re *acp.RequestError
	switch {
	case errors.As(err, &re) && re != nil:
		return re
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		return acp.NewRequestCancelled(nil)
	default:
		return acp.NewInternalError(map[string]any{"error": err.Error()})
	}
}
