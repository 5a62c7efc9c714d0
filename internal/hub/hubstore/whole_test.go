package hubstore

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acp-bridge/acp-bridge/internal/acptest"
)

// storeOf makes a folder with values, one of which was changed and one deleted.
func storeOf(t *testing.T, n int) (dir string, values map[string]string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "store")
	s := acptest.Must(Open(t.Context(), Options{Dir: dir}))
	defer s.Close()
	values = map[string]string{}
	for i := range n {
		key, value := fmt.Sprintf("c.%d", i), fmt.Sprintf(`{"asked":%d}`, i)
		revision := acptest.Must(s.Create(t.Context(), key, []byte(value)))
		values[key] = value
		switch i % 3 {
		case 1:
			values[key] = fmt.Sprintf(`{"answered":%d}`, i)
			acptest.Must(s.Update(t.Context(), key, []byte(values[key]), revision))
		case 2:
			delete(values, key)
			require.NoError(t, s.Delete(t.Context(), key, revision))
		}
	}
	return dir, values
}

// readStore opens a folder as a hub does, with a mark, and reads all that is in it.
func readStore(ctx context.Context, dir string) (values map[string]string, reported string, err error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	s, err := Open(ctx, Options{Dir: dir, Report: func(problem string) { reported += problem }})
	if err != nil {
		return nil, reported, err
	}
	defer s.Close()
	values = map[string]string{}
	lister, err := s.kv.ListKeys(ctx)
	if err = cmp.Or(err, acptest.Err(s.Mark(ctx))); err != nil {
		return nil, reported, err
	}
	for key := range lister.Keys() {
		e, err := s.kv.Get(ctx, key)
		if err != nil {
			return nil, reported, err
		}
		values[key] = string(e.Value())
	}
	return values, reported, nil
}

// A byte that is damaged in any file of the store is told, whichever it is: the
// store does not open, or opens with all that is whole, and keeps what it was. Or
// nothing is lost.
func TestDamagedByteIsTold(t *testing.T) {
	t.Parallel()
	whole, values := storeOf(t, 9)
	again, reported := acptest.Must2(readStore(t.Context(), copyOf(t, whole)))
	require.Empty(t, reported)
	require.Equal(t, values, again)

	told := 0
	require.NoError(t, filepath.WalkDir(whole, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text := acptest.Must(os.ReadFile(path))
		name := acptest.Must(filepath.Rel(whole, path))
		step := max(1, len(text)/3)
		if strings.HasSuffix(name, ".blk") {
			step = max(1, len(text)/20)
		}
		for at := 0; at < len(text); at += step {
			dir := copyOf(t, whole)
			damaged := append([]byte{}, text...)
			damaged[at] ^= 1
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), damaged, 0o600))
			got, reported, err := readStore(t.Context(), dir)
			if err != nil {
				require.Contains(t, err.Error(), "damaged", "%s at %d", name, at)
				kept := acptest.Must(os.ReadFile(filepath.Join(dir, name)))
				require.Equal(t, damaged, kept, "%s was changed", name)
				told++
				continue
			}
			if reported == "" {
				require.Equal(t, values, got, "%s at %d: nobody was told", name, at)
				continue
			}
			told++
			require.Contains(t, reported, "DAMAGED")
			aside := acptest.Must(filepath.Glob(dir + "-damaged-*"))
			require.Len(t, aside, 1)
			require.Equal(t, damaged, acptest.Must(os.ReadFile(filepath.Join(aside[0], name))))
			different := 0
			for key := range values {
				if got[key] != values[key] {
					different++
				}
			}
			require.LessOrEqual(t, different, 1, "%s at %d: %v", name, at, got)
			_, reported = acptest.Must2(readStore(t.Context(), dir))
			require.Empty(t, reported, "it is told once")
			require.NoError(t, os.RemoveAll(dir))
			require.NoError(t, os.RemoveAll(aside[0]))
		}
		return nil
	}))
	require.Greater(t, told, 15)
}

// Whichever bit of a block is damaged, one record is left out and no other.
func TestDamagedRecordIsLeftOut(t *testing.T) {
	t.Parallel()
	dir, _ := storeOf(t, 4)
	text := acptest.Must(os.ReadFile(filepath.Join(dir, "jetstream", "$G", "streams", "KV_questions", "msgs", "1.blk")))
	const key = "KV_questions-1"
	b := readBlock(key, text)
	require.Zero(t, b.lost)
	require.Equal(t, text, b.kept)
	for at := range text {
		for bit := range 8 {
			damaged := append([]byte{}, text...)
			damaged[at] ^= 1 << bit
			b := readBlock(key, damaged)
			require.Equal(t, len(text), len(b.kept)+b.lost)
			require.Positive(t, b.lost, "byte %d, bit %d", at, bit)
			require.LessOrEqual(t, b.lost, 400, "byte %d, bit %d", at, bit)
			require.Zero(t, readBlock(key, b.kept).lost)
		}
	}
}

// recordOf is a value as a block has it that has a key.
func recordOf(block string, sequence uint64, key, value string) []byte {
	le, subject := binary.LittleEndian, "$KV.questions."+key
	record := le.AppendUint32(nil, uint32(recordHead+len(subject)+len(value)+recordSum))
	record = le.AppendUint64(record, sequence)
	record = le.AppendUint64(record, 1)
	record = le.AppendUint16(record, uint16(len(subject)))
	record = append(append(record, subject...), value...)
	return append(record, digest(summer(block), record[4:20], []byte(subject), []byte(value))...)
}

// Of several blocks each keeps its own records, also one that was torn in its last: there
// is one buffer for those that are whole.
func TestDamagedBlocksKeepTheirOwn(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	stream := filepath.Join(dir, "jetstream", "$G", "streams", "KV_questions")
	require.NoError(t, os.MkdirAll(filepath.Join(stream, "msgs"), 0o700))
	index := filepath.Join(stream, "msgs", "index.db")
	require.NoError(t, os.WriteFile(index, nil, 0o600))
	name := func(block int) string { return filepath.Join(stream, "msgs", fmt.Sprint(block, ".blk")) }
	left := map[int]string{}
	for block := 1; block <= 5; block++ {
		var records [3]string
		for i := range records {
			records[i] = string(recordOf(fmt.Sprint("KV_questions-", block), uint64(10*block+i), fmt.Sprint("key", i), fmt.Sprintf(`{"of":%d}`, block)))
		}
		text := strings.Join(records[:], "")
		left[block] = text
		switch block {
		case 3: // in the middle
			at := len(records[0]) + recordHead + 20
			text = text[:at] + "#" + text[at+1:]
			left[block] = records[0] + records[2]
		case 2, 5: // a power cut
			text = text[:len(text)-3]
			left[block] = records[0] + records[1]
		}
		require.NoError(t, os.WriteFile(name(block), []byte(text), 0o600))
	}
	problem := acptest.Must(mend(dir, "questions", time.Now()))
	for block, want := range left {
		require.Equal(t, block == 2 || block == 3 || block == 5, strings.Contains(problem, name(block)), problem)
		require.Equal(t, want, string(acptest.Must(os.ReadFile(name(block)))), "%d", block)
	}
	require.NoFileExists(t, index, "the server looks at the blocks itself")
	problem = acptest.Must(mend(dir, "questions", time.Now()))
	require.Empty(t, problem)
}

// Where there is no room for a copy nothing is mended.
func TestDamagedStoreIsNotMendedWithoutACopy(t *testing.T) {
	dir, _ := storeOf(t, 3)
	name := filepath.Join(dir, "jetstream", "$G", "streams", "KV_questions", "msgs", "1.blk")
	text := acptest.Must(os.ReadFile(name))
	text[len(text)/2] ^= 1
	require.NoError(t, os.WriteFile(name, text, 0o600))
	now := time.Now()
	require.NoError(t, os.WriteFile(dir+"-damaged-"+now.UTC().Format("20060102T150405Z"), nil, 0o600)) // in its place
	require.ErrorContains(t, acptest.Err(mend(dir, "questions", now)), "cannot be copied")
	require.Equal(t, text, acptest.Must(os.ReadFile(name)))
}

func copyOf(t *testing.T, dir string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "store")
	require.NoError(t, os.CopyFS(to, os.DirFS(dir)))
	return to
}
