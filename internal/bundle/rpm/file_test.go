package rpm

import (
	"bytes"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
	"github.com/sassoftware/go-rpmutils"
)

// value of a tag: a string, strings, a number, numbers or bytes.
type values map[int32]any

// header makes a header structure as rpm does, sorted by tag.
func header(tags values) []byte {
	var ids []int32
	for id := range tags {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	var index, store bytes.Buffer
	for _, id := range ids {
		typ, count, data, align := 0, 1, []byte(nil), 1
		switch v := tags[id].(type) {
		case string:
			typ, data = typeString, append([]byte(v), 0)
		case []string:
			typ, count = typeStrings, len(v)
			for _, s := range v {
				data = append(append(data, s...), 0)
			}
		case []uint32:
			typ, count, align = typeInt32, len(v), 4
			for _, n := range v {
				data = binary.BigEndian.AppendUint32(data, n)
			}
		case []byte:
			typ, count, data = typeBinary, len(v), v
		}
		for store.Len()%align != 0 {
			store.WriteByte(0)
		}
		for _, n := range []int{int(id), typ, store.Len(), count} {
			_ = binary.Write(&index, binary.BigEndian, uint32(n))
		}
		store.Write(data)
	}
	out := binary.BigEndian.AppendUint32(nil, 0x8eade801)
	out = append(out, 0, 0, 0, 0)
	out = binary.BigEndian.AppendUint32(out, uint32(len(ids)))
	out = binary.BigEndian.AppendUint32(out, uint32(store.Len()))
	return slices.Concat(out, index.Bytes(), store.Bytes())
}

// rpmFile makes an rpm file from the tags of its two headers and a payload.
func rpmFile(sig, gen values, payload string) []byte {
	lead := make([]byte, leadSize)
	copy(lead, "\xed\xab\xee\xdb\x03\x00")
	s := header(sig)
	for len(s)%8 != 0 {
		s = append(s, 0)
	}
	return slices.Concat(lead, s, header(gen), []byte(payload))
}

func sum(s []byte) string {
	h := sha256.Sum256(s)
	return hex.EncodeToString(h[:])
}

const payload = "the payload, which rpm would unpack"

func simpleTags() values {
	return values{
		tagName: "app", tagVersion: "1.0", tagRelease: "1", tagArch: "aarch64", tagSummary: "An app", tagLicense: "MIT",
		tagSourceRPM: "app.src.rpm",
		tagEpoch:     []uint32{2}, tagBuildTime: []uint32{1000}, tagSize: []uint32{7},
		tagProvideName: []string{"app", "libapp.so"}, tagProvideFlags: []uint32{8, 0},
		tagProvideVersion: []string{"2:1.0-1", ""},
		tagRequireName:    []string{"rpmlib(X)", "lib", "(a or b)"}, tagRequireFlags: []uint32{1<<24 | 10, 12, 0},
		tagRequireVersion: []string{"1", "3", ""},
		tagBaseNames:      []string{"app", "d"}, tagDirNames: []string{"/usr/bin/", "/opt/"},
		tagDirIndexes: []uint32{0, 1}, tagFileModes: []uint32{0o100755, 0o40755},
		tagFileFlags: []uint32{0, 0}, tagPayloadDigest: []string{sum([]byte(payload))},
		tagPayloadDigestAlgo: []uint32{8},
	}
}

func simple() []byte {
	gen := simpleTags()
	return rpmFile(values{sigSHA256: sum(header(gen))}, gen, payload)
}

func signed(t testing.TB, data []byte, e *openpgp.Entity) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.rpm")
	writeFile(t, path, data)
	signFile(t, path, e)
	return readFile(t, path)
}

func TestReadPackage(t *testing.T) {
	p, err := ReadPackage(bytes.NewReader(simple()), "app-1.0-1.aarch64.rpm", 5)
	if err != nil {
		t.Fatal(err)
	}
	if p.NEVRA() != "app-2:1.0-1.aarch64" || p.SHA256 != sum(simple()) || p.Size != int64(len(simple())) ||
		p.Summary != "An app" {
		t.Errorf("%+v", p)
	}
	if got := fmt.Sprint(p.Provides(), p.Requires(),
		p.files); got != "[app = 2:1.0-1 libapp.so] [lib >= 3 (a or b)] [{/usr/bin/app } {/opt/d dir}]" {
		t.Error(got)
	}
	x := NewIndex("aarch64")
	if err := x.AddPackages([]*Package{p, {Name: "i", Arch: "i686"}}, "dir", 99); err != nil || x.Len() != 1 {
		t.Errorf("%d %v", x.Len(), err)
	}
}

func TestReadDir(t *testing.T) {
	fsys := fstest.MapFS{"b.rpm": {Data: simple()}, "README": {Data: []byte("x")}, "a.src.rpm": {Data: []byte("x")},
		"sub/c.rpm": {Data: []byte("x")},
		"link.rpm":  {Data: []byte("x"), Mode: fs.ModeSymlink}}
	list, err := ReadDir(t.Context(), fsys, "pkgs")
	if err != nil || len(list) != 1 || list[0].Location != "b.rpm" {
		t.Fatalf("%v %v", list, err)
	}
	fsys["c.rpm"] = &fstest.MapFile{Data: []byte("x")}
	if _, err := ReadDir(t.Context(), fsys, "pkgs"); err == nil || faultOf(err).Code != "rpm.file" {
		t.Error(err)
	}
}

func TestVerify(t *testing.T) {
	builder, public := key(t)
	other, otherPublic := key(t)
	keys, err := ReadKeyring(public, "k", "r")
	if err != nil {
		t.Fatal(err)
	}
	both, err := ReadKeyring(append(bytes.Clone(otherPublic), public...), "k", "r")
	if err != nil || len(both) != 2 {
		t.Fatalf("%d keys, %v", len(both), err)
	}
	good := signed(t, simple(), builder)
	// go-rpmutils, which knows nothing of this package, agrees.
	if _, sigs, err := rpmutils.Verify(bytes.NewReader(good), keys); err != nil || len(sigs) != 2 {
		t.Fatalf("%v %v", sigs, err)
	}
	change := func(old, to string) []byte { return bytes.Replace(bytes.Clone(good), []byte(old), []byte(to), 1) }
	weak := simpleTags()
	delete(weak, tagPayloadDigest)
	delete(weak, tagPayloadDigestAlgo)
	headerOnly := func(gen values) []byte { // a signature of the header alone
		var b bytes.Buffer
		if err := openpgp.DetachSign(&b, builder, bytes.NewReader(header(gen)), nil); err != nil {
			t.Fatal(err)
		}
		return rpmFile(values{sigRSA: b.Bytes()}, gen, payload)
	}
	v3 := func(gen values, hash byte) []byte {
		return rpmFile(values{sigRSA: sign3(t, builder, header(gen), hash)}, gen, payload)
	}
	now := time.Now()
	for _, c := range []struct {
		name, code string
		data       []byte
		keys       openpgp.EntityList
		now        time.Time
	}{
		{"good", "", good, keys, now},
		{"one of two keys", "", good, both, now},
		{"header signed, payload by digest", "", headerOnly(simpleTags()), keys, now},
		{"signature of version 3", "", v3(simpleTags(), 8), keys, now},
		{"signature of version 3 with SHA-1", "", v3(simpleTags(), 2), keys, now},
		{"header signed, payload by nothing", "rpm.unsigned", headerOnly(weak), keys, now},
		{"unsigned", "rpm.unsigned", simple(), keys, now},
		{"no keys", "rpm.unknown-key", good, nil, now},
		{"wrong key", "rpm.unknown-key", signed(t, simple(), other), keys, now},
		{"changed payload", "rpm.digest", change("unpack", "unpick"), keys, now},
		{"changed header, digest too", "rpm.signature", func() []byte {
			gen := simpleTags()
			gen[tagRequireName] = []string{"rpmlib(X)", "lid", "(a or b)"}
			h, err := ReadHeader(bytes.NewReader(good))
			if err != nil {
				t.Fatal(err)
			}
			sigs := values{sigSHA256: sum(header(gen))}
			for _, id := range []int32{sigRSA, sigPGP} {
				if sigs[id], err = h.sig[id].bytes(); err != nil {
					t.Fatal(err)
				}
			}
			return rpmFile(sigs, gen, payload)
		}(), keys, now},
		{"changed header", "rpm.digest", change("An app", "Na app"), keys, now},
		{"cut short", "rpm.file", good[:len(good)/3], keys, now},
		{"cut in the payload", "rpm.digest", good[:len(good)-3], keys, now},
		{"more at the end", "rpm.digest", append(bytes.Clone(good), 'x'), keys, now},
		{"from the future", "rpm.signature", good, keys, now.Add(-48 * time.Hour)},
		{"no rpm", "rpm.file", []byte(strings.Repeat("x", 200)), keys, now},
		{"nothing", "rpm.file", nil, keys, now},
		{"a source package", "rpm.file", func() []byte { b := bytes.Clone(good); b[7] = 1; return b }(), keys, now},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Verify(bytes.NewReader(c.data), "x.rpm", c.keys, c.now)
			code := ""
			if err != nil {
				code = faultOf(err).Code
			}
			if code != c.code {
				t.Errorf("got %q: %v", code, err)
			}
		})
	}
	h, err := VerifyDigests(bytes.NewReader(simple()), "x.rpm")
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Match(&Package{Name: "app", Epoch: "2", Version: "1.0", Release: "1", Arch: "aarch64"}); err != nil {
		t.Error(err)
	}
	if err := h.Match(&Package{Name: "app", Epoch: "2", Version: "1.1", Release: "1", Arch: "aarch64"}); err == nil ||
		faultOf(err).Code != "rpm.mismatch" {
		t.Error(err)
	}
	if _, err := VerifyDigests(bytes.NewReader(change("unpack", "unpick")), "x.rpm"); err == nil {
		t.Error("a changed payload was accepted")
	}
}

func TestAnExpiredOrRevokedKey(t *testing.T) {
	then := time.Now().Add(-100 * time.Hour)
	at := func(d time.Duration) *packet.Config {
		return &packet.Config{RSABits: 2048, Algorithm: packet.PubKeyAlgoRSA, KeyLifetimeSecs: 3600,
			Time: func() time.Time { return then.Add(d) }}
	}
	e, err := openpgp.NewEntity("Old", "", "old@repo.test", at(0))
	if err != nil {
		t.Fatal(err)
	}
	for d, want := range map[time.Duration]bool{time.Minute: true, 2 * time.Hour: false} {
		var sig bytes.Buffer
		if err := openpgp.DetachSign(&sig, e, strings.NewReader("text"), at(time.Minute)); err != nil {
			t.Fatal(err)
		}
		if d > time.Hour { // made with the same key, after it had expired
			sig.Reset()
			s := &packet.Signature{SigType: packet.SigTypeBinary, CreationTime: then.Add(d),
				PubKeyAlgo: e.PrivateKey.PubKeyAlgo, Hash: crypto.SHA256, IssuerKeyId: &e.PrimaryKey.KeyId}
			h := crypto.SHA256.New()
			h.Write([]byte("text"))
			if err := s.Sign(h, e.PrivateKey, nil); err != nil {
				t.Fatal(err)
			}
			if err := s.Serialize(&sig); err != nil {
				t.Fatal(err)
			}
		}
		err := verifyDetached([]byte("text"), sig.Bytes(), openpgp.EntityList{e}, time.Now())
		if (err == nil) != want {
			t.Errorf("signed after %s: %v", d, err)
		}
	}
	var sig bytes.Buffer
	if err := openpgp.DetachSign(&sig, e, strings.NewReader("text"), at(time.Second)); err != nil {
		t.Fatal(err)
	}
	if err := e.RevokeKey(packet.KeyCompromised, "lost", at(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if err := verifyDetached([]byte("text"), sig.Bytes(), openpgp.EntityList{e}, time.Now()); err == nil ||
		!strings.Contains(err.Error(), "revoked") {
		t.Error(err)
	}
}

// sign3 makes a signature packet of version 3.
func sign3(t testing.TB, e *openpgp.Entity, data []byte, hash byte) []byte {
	t.Helper()
	private, ok := e.PrivateKey.PrivateKey.(*rsa.PrivateKey)
	if !ok {
		t.Fatal("no RSA key")
	}
	algorithm := map[byte]crypto.Hash{2: crypto.SHA1, 8: crypto.SHA256}[hash]
	tail := binary.BigEndian.AppendUint32([]byte{0}, uint32(time.Now().Unix()))
	h := algorithm.New()
	h.Write(data)
	h.Write(tail)
	digest := h.Sum(nil)
	value, err := rsa.SignPKCS1v15(rand.Reader, private, algorithm, digest)
	if err != nil {
		t.Fatal(err)
	}
	for value[0] == 0 {
		value = value[1:]
	}
	bits := len(value) * 8
	for v := value[0]; v < 128; v <<= 1 {
		bits--
	}
	b := append([]byte{3, 5}, tail...)
	b = binary.BigEndian.AppendUint64(b, e.PrimaryKey.KeyId)
	b = append(b, byte(packet.PubKeyAlgoRSA), hash, digest[0], digest[1])
	b = append(binary.BigEndian.AppendUint16(b, uint16(bits)), value...)
	return append([]byte{0x80 | 2<<2 | 1, byte(len(b) >> 8), byte(len(b))}, b...)
}

func FuzzHeader(f *testing.F) {
	f.Add(simple())
	gen := simpleTags()
	f.Add(rpmFile(values{sigSHA256: sum(header(gen)), sigPGP: []byte{0x88, 3, 3, 5, 0}, sigOpenPGP: []string{"iAA="}},
		gen, ""))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := ReadPackage(bytes.NewReader(data), "x.rpm", 0)
		_, verr := Verify(bytes.NewReader(data), "x.rpm", nil, time.Now())
		if verr == nil {
			t.Fatal("verified without a key")
		}
		if err != nil {
			return
		}
		if _, err := PackageOfMeta(MetaOf(p)); err != nil {
			t.Fatalf("%v\n%s", err, MetaOf(p))
		}
	})
}
