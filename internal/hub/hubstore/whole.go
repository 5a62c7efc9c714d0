package hubstore

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/minio/highwayhash"
	"github.com/nats-io/nats.go/jetstream"
)

// An embedded server that finds a record which is not as it was written cuts the
// file there, and one that finds a bucket's description so has no bucket; it says
// so to a log that nobody has. So the files are looked through before it starts,
// and mended by leaving out no more than what is damaged.

// mend makes a folder of the embedded server whole, and says what was not. A copy
// of the folder as it was stays. What cannot be mended is an error, and nothing
// has changed. Whoever opens a bucket writes a mark first: one without a record has lost
// all. A file that is gone is no sign, as the server removes those that it needs no more: see
// [Store.missing].
func mend(dir, bucket string, now time.Time) (problem string, err error) {
	streams, err := filepath.Glob(filepath.Join(dir, "jetstream", "*", "streams", "KV_*"))
	if err != nil {
		return "", err
	}
	var broken []block
	var places, keys []string
	for _, stream := range streams {
		described, err := checkDescription(stream)
		if err != nil {
			return "", err
		}
		found, empty, err := brokenBlocks(stream)
		if err != nil {
			return "", err
		}
		if described && empty && filepath.Base(stream) == "KV_"+bucket {
			found = append(found, block{name: filepath.Join(stream, "msgs", "*.blk")})
		}
		broken = append(broken, found...)
	}
	if len(broken) == 0 {
		return "", nil
	}
	aside := dir + "-damaged-" + now.UTC().Format("20060102T150405Z")
	if err := os.CopyFS(aside, os.DirFS(dir)); err != nil {
		return "", fmt.Errorf("the store in %s is damaged, and cannot be copied before it is mended: %w", dir, err)
	}
	for _, b := range broken {
		if err := b.mend(); err != nil {
			return "", fmt.Errorf("the store is damaged (%s), and cannot be mended: %w", b.place(), err)
		}
		places, keys = append(places, b.place()), append(keys, b.keys...)
	}
	problem = fmt.Sprintf(damaged, strings.Join(places, "; ")) + ". As it was it is kept in " + aside
	if len(keys) > 0 {
		problem += ". Damaged values: " + strings.Join(keys, ", ")
	}
	return problem, nil
}

const damaged = "THE STORE WAS DAMAGED: %s. What was written there is lost: a question may be gone, or be open again that was answered"

// missing reports how many values of a bucket are in no file. The server compares its files
// with an index that is as new as they are only where the last hub was stopped: where it was
// killed, a file that is gone is not told.
func (s *Store) missing(ctx context.Context, report func(problem string)) {
	stream, err := s.js.Stream(ctx, s.stream())
	if err != nil || stream.CachedInfo().State.NumDeleted > mostDeleted {
		return
	}
	info, err := stream.Info(ctx, jetstream.WithDeletedDetails(true))
	if err == nil && info.State.Lost != nil {
		report(fmt.Sprintf(damaged, fmt.Sprintf("%d values of %s are in no file", len(info.State.Lost.Msgs), s.stream())))
	}
}

// mostDeleted is how many sequences of values that were replaced or removed a server may list, 8
// bytes each: it lists them with those that it misses.
const mostDeleted = 1_000_000

// checkDescription compares a bucket's description with its sum, if it is there.
func checkDescription(stream string) (described bool, err error) {
	name := filepath.Join(stream, "meta.inf")
	text, err := os.ReadFile(name)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil // it was never whole: the server makes it anew
	}
	var sum []byte
	if err == nil {
		sum, err = os.ReadFile(filepath.Join(stream, "meta.sum"))
	}
	if err == nil && string(sum) != hex.EncodeToString(digest(summer(filepath.Base(stream)), text)) {
		err = errors.New("it is not as it was written")
	}
	if err != nil {
		return false, fmt.Errorf("the store is damaged: %s: %w. Nothing was changed: put a copy of it back, or move the folder away to begin with no questions", name, err)
	}
	return true, nil
}

// block is a file of records with something in it that is none, or without any.
type block struct {
	name string
	at   int      // where that begins
	lost int      // how many bytes are no records; 0 if all of it is gone
	keys []string // of damaged values, as far as they can be read
	kept []byte   // the records that are whole
}

func (b block) place() string {
	if b.lost == 0 {
		return "all of " + b.name
	}
	return fmt.Sprintf("%d bytes at %d of %s", b.lost, b.at, b.name)
}

// mend drops what the server knows of the file's content, and writes anew what there is of it.
func (b block) mend() error {
	if err := os.Remove(filepath.Join(filepath.Dir(b.name), "index.db")); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if b.lost == 0 {
		return nil
	}
	next := b.name + ".whole"
	f, err := os.OpenFile(next, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(b.kept)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(next, b.name)
}

// brokenBlocks finds the files of a bucket that are not whole, and whether it has no record.
// A bucket in which nothing was written yet has one file, an empty one.
func brokenBlocks(stream string) (broken []block, empty bool, err error) {
	names, err := filepath.Glob(filepath.Join(stream, "msgs", "[0-9]*.blk"))
	if err != nil {
		return nil, false, err
	}
	var empties []block
	var buffer bytes.Buffer // for all: what is read anew each time costs more than the check
	for _, name := range names {
		if err := readInto(&buffer, name); err != nil {
			return nil, false, fmt.Errorf("the store cannot be read: %w", err)
		}
		if buffer.Len() == 0 {
			empties = append(empties, block{name: name})
			continue
		}
		key := filepath.Base(stream) + "-" + strings.TrimSuffix(filepath.Base(name), ".blk")
		if b := readBlock(key, buffer.Bytes()); b.lost > 0 {
			b.name, buffer = name, bytes.Buffer{} // the block has what was in it
			broken = append(broken, b)
		}
	}
	if len(empties) < len(names) {
		return append(broken, empties...), false, nil
	}
	return broken, true, nil
}

func readInto(buffer *bytes.Buffer, name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	buffer.Reset()
	if info, err := f.Stat(); err == nil {
		buffer.Grow(int(info.Size()) + bytes.MinRead)
	}
	_, err = buffer.ReadFrom(f)
	return err
}

// readBlock goes through the records of a block. Behind one that is damaged it
// goes on with the next that is whole. What it keeps is a part of the text as long as
// nothing is damaged.
func readBlock(key string, text []byte) block {
	b, h := block{at: -1}, summer(key)
	for at := 0; at < len(text); {
		record, whole := readRecord(h, text[at:])
		if whole && b.at < 0 {
			at += len(record)
			b.kept = text[:at:at]
			continue
		}
		if whole {
			b.kept = append(b.kept, record...)
			at += len(record)
			continue
		}
		if b.at < 0 {
			b.at = at
		}
		if key := valueKey(record); key != "" && !slices.Contains(b.keys, key) {
			b.keys = append(b.keys, key)
		}
		from := at
		for at++; at < len(text); at++ {
			if _, whole := readRecord(h, text[at:]); whole {
				break
			}
		}
		b.lost += at - from
	}
	return b
}

// A record is its length, a sequence, a time, the length of its subject, the
// subject, headers and a value, and the sum of what is behind the length.
const (
	recordHead, recordSum = 22, 8
	hasHeaders            = 1 << 31
	longestRecord         = 32 << 20
)

// readRecord returns the record that a text begins with, and whether it is as it
// was written.
func readRecord(h hash.Hash, text []byte) (record []byte, whole bool) {
	if len(text) < recordHead+recordSum {
		return nil, false
	}
	le := binary.LittleEndian
	length, headers := le.Uint32(text), 0
	if length&hasHeaders != 0 {
		length, headers = length&^hasHeaders, 4
	}
	subject := int(le.Uint16(text[20:]))
	if length > longestRecord || int(length) > len(text) || recordHead+subject+headers+recordSum > int(length) {
		return nil, false
	}
	record = text[:length]
	body := record[recordHead : len(record)-recordSum]
	if !splits(body, subject, headers) {
		return record, false
	}
	sum := digest(h, record[4:20], body[:subject], body[subject+headers:])
	return record, bytes.Equal(sum, record[len(record)-recordSum:])
}

// splits reports whether a record is divided where its parts end: the sum does not
// cover the lengths.
func splits(body []byte, subject, headers int) bool {
	if subject == 0 {
		return len(body) == 0 // the mark of a deletion
	}
	rest := body[subject:]
	if headers > 0 {
		length := binary.LittleEndian.Uint32(rest)
		return int(length) <= len(rest)-headers && bytes.HasPrefix(rest[headers:], []byte("NATS/1.0\r\n")) && bytes.HasSuffix(rest[headers:headers+int(length)], []byte("\r\n\r\n"))
	}
	return len(rest) == 0 || !keyByte(rest[0]) && keyByte(body[subject-1])
}

// keyByte reports whether a key may have the byte. No value begins with one: they are
// JSON objects, or packed ones.
func keyByte(b byte) bool {
	return strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-/_=.", rune(b))
}

// valueKey is the key of the value in a record, if it looks like one.
func valueKey(record []byte) string {
	if len(record) < recordHead {
		return ""
	}
	subject := record[recordHead:][:binary.LittleEndian.Uint16(record[20:])]
	parts := strings.SplitN(string(subject), ".", 3)
	if len(parts) < 3 || parts[0] != "$KV" || strings.ContainsFunc(parts[2], func(r rune) bool { return r <= ' ' || r > '~' }) {
		return ""
	}
	return parts[2]
}

// summer makes the sums by which the server knows its own files. Each file has a key.
func summer(key string) hash.Hash {
	sum := sha256.Sum256([]byte(key))
	h, err := highwayhash.NewDigest64(sum[:])
	if err != nil {
		panic(err) // a key of another length
	}
	return h
}

func digest(h hash.Hash, parts ...[]byte) []byte {
	h.Reset()
	for _, p := range parts {
		_, _ = h.Write(p)
	}
	return h.Sum(nil)
}
