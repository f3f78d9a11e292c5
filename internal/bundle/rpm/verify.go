package rpm

import (
	"crypto"
	_ "crypto/md5" // not used for trust: named so that an old payload digest is recognised
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Verify reads an rpm file to its end and says whether a key of the ring signed all of it: either header and payload,
// or the header, and the header's strong digest is that of the payload. All digests in the file must be right too, and
// no signature by a key of the ring may be bad. name is for the faults.
//
// Faults: "rpm.file" (no rpm file, or cut short), "rpm.digest", "rpm.unsigned" (there is no signature at all, or none
// that covers the payload), "rpm.unknown-key" (there are some, of keys that the ring lacks), "rpm.signature".
func Verify(r io.Reader, name string, keys openpgp.EntityList, now time.Time) (*Header, error) {
	v, err := verifyFile(r, name)
	if err != nil {
		return nil, err
	}
	fault := func(code string, err error) (*Header, error) {
		return nil, event.NewFault(event.ClassFailed, code, err, "file", name)
	}
	good, unknown := false, []error(nil)
	for _, s := range v.sigs {
		err := s.sig.check(keys, s.hash, now)
		var other errUnknownKey
		switch {
		case errors.As(err, &other):
			unknown = append(unknown, err)
		case err != nil:
			return fault("rpm.signature", err)
		case s.payload || v.strong:
			good = true
		}
	}
	switch {
	case good:
		return v.h, nil
	case len(unknown) > 0:
		return fault("rpm.unknown-key", unknown[0])
	case v.unreadable != nil:
		return fault("rpm.signature", v.unreadable)
	case len(v.sigs) > 0:
		return fault("rpm.unsigned", errors.New("the signature does not cover the payload"))
	}
	return fault("rpm.unsigned", nil)
}

// VerifyDigests is Verify without signatures, for repositories that the spec vouches for: the file is whole, nothing
// more.
func VerifyDigests(r io.Reader, name string) (*Header, error) {
	v, err := verifyFile(r, name)
	if err != nil {
		return nil, err
	}
	return v.h, nil
}

// verified is what the reading of a file found.
type verified struct {
	h          *Header
	sigs       []fileSignature
	strong     bool  // the header has a digest of the payload that cannot be forged, and it is right
	unreadable error // why a signature could not be read
}

// fileSignature with the hash of what it is over.
type fileSignature struct {
	sig     signature
	hash    hash.Hash
	payload bool // over header and payload, not the header alone
}

func verifyFile(r io.Reader, name string) (*verified, error) {
	fail := func(code string, err error) (*verified, error) {
		return nil, event.NewFault(event.ClassFailed, code, err, "file", name)
	}
	h, err := ReadHeader(r)
	if err != nil {
		return fail("rpm.file", err)
	}
	v := &verified{h: h}
	if err := h.checkHeaderDigests(); err != nil {
		return fail("rpm.digest", err)
	}
	v.signatures()
	var sinks []io.Writer
	for _, s := range v.sigs {
		s.hash.Write(h.raw)
		if s.payload {
			sinks = append(sinks, s.hash)
		}
	}
	sum, want, err := h.payloadDigest()
	if err != nil {
		return fail("rpm.digest", err)
	}
	if sum != nil {
		sinks = append(sinks, sum)
	}
	if _, err := io.Copy(io.MultiWriter(sinks...), r); err != nil {
		return fail("rpm.file", err)
	}
	if sum != nil {
		if hex.EncodeToString(sum.Sum(nil)) != want {
			return fail("rpm.digest", errors.New("the payload is not what the header says"))
		}
		v.strong = sum.Size() >= crypto.SHA256.Size()
	}
	return v, nil
}

// checkHeaderDigests compares the digests of the header in the signature header.
func (h *Header) checkHeaderDigests() error {
	for id, algorithm := range map[int32]crypto.Hash{sigSHA1: crypto.SHA1, sigSHA256: crypto.SHA256} {
		want, err := h.sig[id].string()
		if err != nil {
			return err
		}
		sum := algorithm.New()
		sum.Write(h.raw)
		if want != "" && hex.EncodeToString(sum.Sum(nil)) != want {
			return fmt.Errorf("the header's %s is another", algorithm)
		}
	}
	return nil
}

// payloadDigest returns the hash for the payload and its value; nil for the packages of old that have none.
func (h *Header) payloadDigest() (hash.Hash, string, error) {
	want, err := h.gen[tagPayloadDigest].string()
	if err != nil || want == "" {
		return nil, "", err
	}
	algorithm, err := h.gen[tagPayloadDigestAlgo].int()
	if err != nil {
		return nil, "", err
	}
	known, ok := map[int64]crypto.Hash{1: crypto.MD5, 2: crypto.SHA1, 8: crypto.SHA256, 9: crypto.SHA384,
		10: crypto.SHA512, 11: crypto.SHA224}[algorithm]
	if !ok {
		return nil, "", fmt.Errorf("payload digest of the unknown kind %d", algorithm)
	}
	return known.New(), want, nil
}

// signatures reads all signatures of the file.
func (v *verified) signatures() {
	add := func(data []byte, err error, payload bool) {
		if err == nil && data == nil {
			return
		}
		var sigs []signature
		if err == nil {
			sigs, err = parseSignatures(data)
		}
		for _, s := range sigs {
			var sum hash.Hash
			if sum, err = s.newHash(); err == nil {
				v.sigs = append(v.sigs, fileSignature{s, sum, payload})
			}
		}
		if err != nil {
			v.unreadable = err
		}
	}
	for _, id := range []int32{sigRSA, sigDSA, sigPGP, sigGPG} {
		data, err := v.h.sig[id].bytes()
		add(data, err, id == sigPGP || id == sigGPG)
	}
	list, err := v.h.sig[sigOpenPGP].strings()
	if err != nil {
		v.unreadable = err
	}
	for _, s := range list[:min(len(list), 20)] {
		data, err := base64.StdEncoding.DecodeString(s)
		add(data, err, false)
	}
}
