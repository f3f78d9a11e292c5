package sevenzip

import (
	"bytes"
	"context"
	"encoding/binary"
	"hash/crc32"
	"os"
	"strings"
	"testing"

	"github.com/mholt/archives"
	"github.com/ulikunitz/xz/lzma"
)

// archive is one with nothing but a list of members.
func archive(header []byte) []byte { return archiveOf(nil, header) }

func archiveOf(packed, header []byte) []byte {
	start := binary.LittleEndian.AppendUint64(nil, uint64(len(packed)))
	start = binary.LittleEndian.AppendUint64(start, uint64(len(header)))
	start = binary.LittleEndian.AppendUint32(start, crc32.ChecksumIEEE(header))
	out := append([]byte(signature), 0, 4)
	out = binary.LittleEndian.AppendUint32(out, crc32.ChecksumIEEE(start))
	return append(append(append(out, start...), packed...), header...)
}

// encoded is an archive whose list of members is packed.
func encoded(t testing.TB, header []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := lzma.WriterConfig{Size: int64(len(header)), SizeInHeader: true}.NewWriter(&b)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(header); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	packed := b.Bytes()[13:]
	list := []byte{idEncoded, idPack, 0, 1, idSize}
	list = append(list, number(uint64(len(packed)))...)
	list = append(list, idEnd, idUnpack, idFolder, 1, 0, 1, 0x23, 3, 1, 1, 5)
	list = append(list, b.Bytes()[:5]...)
	list = append(append(append(list, idUnpackSize), number(uint64(len(header)))...), idEnd, idEnd)
	return archiveOf(packed, list)
}

// number is written with all of its nine bytes.
func number(n uint64) []byte { return binary.LittleEndian.AppendUint64([]byte{0xff}, n) }

func list(parts ...[]byte) []byte { return append([]byte{idHeader}, bytes.Join(parts, nil)...) }

func hostile(t testing.TB) map[string][]byte {
	t.Helper()
	many := number(1 << 40)
	members := list([]byte{idFiles}, many, []byte{idEnd, idEnd})
	folder := func(coder ...byte) []byte {
		return list([]byte{idStreams, idUnpack, idFolder, 1, 0, 1}, coder, bytes.Repeat([]byte{0}, 100))
	}
	return map[string][]byte{
		"members":          archive(members),
		"members, packed":  encoded(t, members),
		"more than bytes":  archive(list([]byte{idFiles, 100, idEnd, idEnd})),
		"packed streams":   archive(list([]byte{idStreams, idPack, 0}, many)),
		"folders":          archive(list([]byte{idStreams, idUnpack, idFolder}, many, []byte{0})),
		"coders":           archive(list([]byte{idStreams, idUnpack, idFolder, 1, 0}, many)),
		"streams of coder": archive(folder(append([]byte{0x11, 0}, many...)...)),
		"no streams":       archive(folder(0x11, 0, 0, 0)),
		"properties":       archive(folder(append([]byte{0x21, 0}, many...)...)),
		"a dictionary":     archive(folder(0x23, 3, 1, 1, 5, 93, 0xff, 0xff, 0xff, 0xff)),
		"a key":            archive(folder(0x24, 6, 0xf1, 7, 1, 1, 0x3f)),
		"in a folder": archive(list([]byte{idStreams, idUnpack, idFolder, 1, 0, 1, 1, 0, idUnpackSize, 0, idEnd,
			idSubStreams, idNumStreams}, many)),
		"a list of its own size": func() []byte {
			a := archive(members)
			binary.LittleEndian.PutUint64(a[20:], 1<<50)
			return a
		}(),
		"a list that is elsewhere": func() []byte {
			a := archive(members)
			binary.LittleEndian.PutUint64(a[12:], 1<<63)
			return a
		}(),
		"cut off": archive(members)[:40],
		"empty":   nil,
	}
}

// Each of these makes the library ask for terabytes, or turn for years, or it is no archive at all.
func TestCountsThatCannotBeAreRefused(t *testing.T) {
	for name, a := range hostile(t) {
		if err := Check(bytes.NewReader(a), int64(len(a))); err == nil {
			t.Errorf("%s: it was taken", name)
		} else if strings.Contains(err.Error(), "%!") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAnArchiveIsTaken(t *testing.T) {
	whole, err := os.ReadFile("../build/testdata/etcd.7z")
	if err != nil {
		t.Fatal(err)
	}
	two := list([]byte{idFiles, 2, 0x0e, 1, 0xc0, 0x11, 9, 0, 'a', 0, 0, 0, 'b', 0, 0, 0, idEnd, idEnd})
	for name, a := range map[string][]byte{"of 7-Zip": whole, "plain": archive(two), "packed": encoded(t, two)} {
		if err := Check(bytes.NewReader(a), int64(len(a))); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if n, err := members(a); err != nil || n < 2 {
			t.Errorf("%s: the library reads %d members: %v", name, n, err)
		}
	}
}

// The checksum of a folder with one member is that of the member. An archive with such a one beside those of members by
// themselves reads in two ways, ours and the library's: what one takes for a checksum is a count to the other.
func TestChecksumsOfFolders(t *testing.T) {
	sum := func(text string) []byte {
		return binary.LittleEndian.AppendUint32(nil, crc32.ChecksumIEEE([]byte(text)))
	}
	// two folders that are copied, of one member and of two
	folders := []byte{idStreams, idPack, 0, 2, idSize, 1, 2, idEnd, idUnpack, idFolder, 2, 0, 1, 1, 0, 1, 1, 0,
		idUnpackSize, 1, 2}
	files := []byte{idEnd, idFiles, 3, 0x11, 13, 0, 'a', 0, 0, 0, 'b', 0, 0, 0, 'c', 0, 0, 0, idEnd, idEnd}
	for name, c := range map[string]struct {
		unpack, sub []byte
		why         string
	}{
		"of the first": {
			unpack: append([]byte{idCRC, 0, 0x80}, sum("a")...),
			sub:    append(append([]byte{idNumStreams, 1, 2, idSize, 1, idCRC, 1}, sum("b")...), sum("c")...),
			why:    "with their folders",
		},
		"of both": {
			unpack: append(append([]byte{idCRC, 1}, sum("a")...), sum("bc")...),
			sub:    append(append([]byte{idNumStreams, 1, 2, idSize, 1, idCRC, 1}, sum("b")...), sum("c")...),
			why:    "with their folders",
		},
		"of both folders alone": {
			unpack: append(append([]byte{idCRC, 1}, sum("a")...), sum("bc")...),
			sub:    []byte{idNumStreams, 1, 2, idSize, 1},
		},
		"of the folder with two": {
			unpack: append([]byte{idCRC, 0, 0x40}, sum("bc")...),
			sub: append(append(append([]byte{idNumStreams, 1, 2, idSize, 1, idCRC, 1}, sum("a")...), sum("b")...),
				sum("c")...),
		},
		"of members alone": {
			sub: append(append(append([]byte{idNumStreams, 1, 2, idSize, 1, idCRC, 1}, sum("a")...), sum("b")...),
				sum("c")...),
		},
		"too many": {
			unpack: append(append([]byte{idCRC, 1}, sum("a")...), sum("bc")...),
			sub: append(append(append([]byte{idNumStreams, 1, 2, idSize, 1, idCRC, 1}, sum("a")...), sum("b")...),
				sum("c")...),
			why: "with their folders",
		},
		"of both, where a folder says that it has millions": {
			unpack: append(append([]byte{idCRC, 1}, sum("a")...), sum("bc")...),
			sub:    append(append([]byte{idNumStreams, 1}, number(maxMembers+1)...), idSize, 1),
			why:    "more than",
		},
	} {
		a := archiveOf([]byte("abc"), list(folders, c.unpack, []byte{idEnd, idSubStreams}, c.sub, []byte{idEnd}, files))
		err := Check(bytes.NewReader(a), int64(len(a)))
		if c.why != "" {
			if err == nil || !strings.Contains(err.Error(), c.why) {
				t.Errorf("%s: %v, want %s", name, err, c.why)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if n, err := members(a); err != nil || n != 3 {
			t.Errorf("%s: the library reads %d members: %v", name, n, err)
		}
	}
}

// members counts as the library does.
func members(a []byte) (n int, err error) {
	err = archives.SevenZip{}.Extract(context.Background(), bytes.NewReader(a),
		func(context.Context, archives.FileInfo) error {
			n++
			return nil
		})
	return n, err
}

// What is taken the library reads, or refuses, within bounds.
func FuzzCheck(f *testing.F) {
	whole, err := os.ReadFile("../build/testdata/etcd.7z")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole[32:])
	for _, a := range hostile(f) {
		if len(a) > 32 {
			f.Add(a[32:])
		}
	}
	f.Fuzz(func(t *testing.T, header []byte) {
		a := archive(header)
		if Check(bytes.NewReader(a), int64(len(a))) != nil {
			return
		}
		defer func() { _ = recover() }() // who calls it does that too
		if n, err := members(a); err == nil && n > maxMembers {
			t.Errorf("%d members", n)
		}
	})
}
