package hub

import (
	"bytes"

	"github.com/klauspost/compress/zstd"
)

// packFrom is the length from which on a value is packed. NATS takes 1 MB unless its
// operator says otherwise, and beside its call a record has the answer and what the agent
// said. A shorter one stays JSON, which is faster, and which hubs of before read beside
// this one; they leave what is packed alone.
const packFrom = 256 << 10

// mostPacked bounds what comes out of a packed value. Hubs write no more than a record
// of the largest question with the largest answer.
const mostPacked = 64 << 20

// packedMark is how a packed value begins, and JSON does not.
var packedMark = []byte{0x28, 0xb5, 0x2f, 0xfd}

// pack shortens a long value. The level is the lowest that finds the second copy of a
// text which does not compress by itself, as records of before have, and packs its
// characters.
func pack(plain []byte) []byte {
	if len(plain) < packFrom {
		return plain
	}
	e, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedBetterCompression))
	if err != nil {
		panic(err) // options that are wrong
	}
	return e.EncodeAll(plain, nil)
}

// unpack returns a value as it was before [pack].
func unpack(value []byte) ([]byte, error) {
	if !bytes.HasPrefix(value, packedMark) {
		return value, nil
	}
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(mostPacked))
	if err != nil {
		panic(err) // options that are wrong
	}
	defer d.Close()
	return d.DecodeAll(value, nil)
}
