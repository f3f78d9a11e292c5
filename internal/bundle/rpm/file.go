package rpm

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Header is what stands before the payload of an rpm file: the lead, the signature header, the header. Reading it is
// done here and not by go-rpmutils, which trusts the counts and offsets of a file that nothing has vouched for yet.
type Header struct {
	sig, gen   map[int32]tag
	raw        []byte // of the header: what is signed
	Start, End int64  // the header's place in the file; the payload follows
}

type tag struct {
	typ   uint32
	count uint32
	data  []byte // from the tag's value to the end of the store
}

// Tags of the header and of the signature header, from rpm's rpmtag.h.
const (
	tagName, tagVersion, tagRelease, tagEpoch, tagSummary = 1000, 1001, 1002, 1003, 1004
	tagBuildTime, tagSize, tagLicense, tagArch            = 1006, 1009, 1014, 1022
	tagFileModes, tagFileFlags, tagSourceRPM              = 1030, 1037, 1044
	tagArchiveSize                                        = 1046
	tagProvideName, tagProvideFlags, tagProvideVersion    = 1047, 1112, 1113
	tagRequireName, tagRequireFlags, tagRequireVersion    = 1049, 1048, 1050
	tagConflictName, tagConflictFlags, tagConflictVersion = 1054, 1053, 1055
	tagObsoleteName, tagObsoleteFlags, tagObsoleteVersion = 1090, 1114, 1115
	tagRecommendName                                      = 5046
	tagSupplementName                                     = 5052
	tagDirIndexes, tagBaseNames, tagDirNames              = 1116, 1117, 1118
	tagLongSize, tagPayloadDigest, tagPayloadDigestAlgo   = 5009, 5092, 5093

	sigDSA, sigRSA, sigSHA1, sigSHA256 = 267, 268, 269, 273 // over the header
	sigOpenPGP                         = 278                // likewise, several, in base64
	sigPGP, sigMD5, sigGPG             = 1002, 1004, 1005   // over header and payload
	sigPayloadSize                     = 1007
)

// Types of a tag's value.
const (
	typeInt16, typeInt32, typeInt64, typeString = 3, 4, 5, 6
	typeBinary, typeStrings, typeI18N           = 7, 8, 9
)

// rpm's own bounds: 64k tags; 256 MB for a header, of which no real one comes near, and 64 MB for signatures.
const (
	leadSize       = 96
	maxTags        = 65535
	maxHeaderSize  = 256 << 20
	maxSigSize     = 64 << 20
	maxTagElements = 4 << 20
)

// ReadHeader reads the beginning of an rpm file up to its payload. Nothing is verified.
func ReadHeader(r io.Reader) (*Header, error) {
	lead := make([]byte, leadSize)
	if _, err := io.ReadFull(r, lead); err != nil {
		return nil, short(err)
	}
	if binary.BigEndian.Uint32(lead) != 0xedabeedb {
		return nil, errors.New("not an rpm file")
	}
	if binary.BigEndian.Uint16(lead[6:]) != 0 {
		return nil, errors.New("a source package")
	}
	h := &Header{}
	var raw []byte
	var err error
	if h.sig, raw, err = readTags(r, maxSigSize); err != nil {
		return nil, fmt.Errorf("signature header: %w", err)
	}
	h.Start = leadSize + int64(len(raw))
	// The header begins at a multiple of eight.
	if pad := (8 - len(raw)%8) % 8; pad > 0 {
		if _, err := io.ReadFull(r, make([]byte, pad)); err != nil {
			return nil, short(err)
		}
		h.Start += int64(pad)
	}
	if h.gen, h.raw, err = readTags(r, maxHeaderSize); err != nil {
		return nil, fmt.Errorf("header: %w", err)
	}
	h.End = h.Start + int64(len(h.raw))
	return h, nil
}

func short(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("cut short")
	}
	return err
}

// readTags reads one header structure: magic, number of tags, size of the store, the tags, the store.
func readTags(r io.Reader, limit uint32) (map[int32]tag, []byte, error) {
	intro := make([]byte, 16)
	if _, err := io.ReadFull(r, intro); err != nil {
		return nil, nil, short(err)
	}
	n, size := binary.BigEndian.Uint32(intro[8:]), binary.BigEndian.Uint32(intro[12:])
	if binary.BigEndian.Uint32(intro) != 0x8eade801 || n > maxTags || size > limit {
		return nil, nil, errors.New("damaged")
	}
	// Read in steps: a short file that announces much does not get that much memory.
	raw := intro
	for want := 16 + int(n)*16 + int(size); len(raw) < want; {
		step := min(want-len(raw), 1<<20)
		raw = append(raw, make([]byte, step)...)
		if _, err := io.ReadFull(r, raw[len(raw)-step:]); err != nil {
			return nil, nil, short(err)
		}
	}
	store := raw[16+n*16:]
	tags := make(map[int32]tag, n)
	for i := range n {
		e := raw[16+i*16:]
		id, typ := int32(binary.BigEndian.Uint32(e)), binary.BigEndian.Uint32(e[4:])
		offset, count := binary.BigEndian.Uint32(e[8:]), binary.BigEndian.Uint32(e[12:])
		if offset > size || count == 0 || count > size {
			return nil, nil, fmt.Errorf("tag %d is damaged", id)
		}
		if _, twice := tags[id]; twice {
			return nil, nil, fmt.Errorf("tag %d is there twice", id)
		}
		tags[id] = tag{typ, count, store[offset:]}
	}
	return tags, raw, nil
}

// strings returns the values of a tag with strings; nil if it is absent.
func (t tag) strings() ([]string, error) {
	if t.data == nil {
		return nil, nil
	}
	if t.typ != typeString && t.typ != typeStrings && t.typ != typeI18N || t.count > maxTagElements ||
		t.typ == typeString && t.count != 1 {
		return nil, errors.New("a tag has the wrong type")
	}
	out := make([]string, 0, min(t.count, 4096))
	rest := t.data
	for range t.count {
		i := bytes.IndexByte(rest, 0)
		if i < 0 {
			return nil, errors.New("a tag is damaged")
		}
		out = append(out, string(rest[:i]))
		rest = rest[i+1:]
	}
	return out, nil
}

func (t tag) string() (string, error) {
	list, err := t.strings()
	if err != nil || len(list) == 0 {
		return "", err
	}
	return list[0], nil
}

// ints returns the values of a tag with numbers; nil if it is absent.
func (t tag) ints() ([]uint64, error) {
	if t.data == nil {
		return nil, nil
	}
	width, ok := map[uint32]int{typeInt16: 2, typeInt32: 4, typeInt64: 8}[t.typ]
	if !ok || int64(len(t.data)) < int64(t.count)*int64(width) || t.count > maxTagElements {
		return nil, errors.New("a tag of numbers is damaged")
	}
	out := make([]uint64, t.count)
	for i := range out {
		b := t.data[i*width:]
		switch width {
		case 2:
			out[i] = uint64(binary.BigEndian.Uint16(b))
		case 4:
			out[i] = uint64(binary.BigEndian.Uint32(b))
		default:
			out[i] = binary.BigEndian.Uint64(b)
		}
	}
	return out, nil
}

func (t tag) int() (int64, error) {
	list, err := t.ints()
	if err != nil || len(list) == 0 {
		return 0, err
	}
	return int64(list[0] & (1<<63 - 1)), nil
}

func (t tag) bytes() ([]byte, error) {
	if t.data == nil {
		return nil, nil
	}
	if t.typ != typeBinary || int64(len(t.data)) < int64(t.count) {
		return nil, errors.New("a tag of bytes is damaged")
	}
	return t.data[:t.count], nil
}
