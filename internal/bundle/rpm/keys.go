package rpm

import (
	"bytes"
	"crypto"
	_ "crypto/sha1"   // of old signatures and digests
	_ "crypto/sha256" // what signatures and digests are made with
	_ "crypto/sha512"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/ProtonMail/go-crypto/openpgp/packet"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// ReadKeyring reads OpenPGP public keys: binary, or armoured, of which a file may have several one after the other as
// distributions' RPM-GPG-KEY files do; name and repository are for the fault "rpm.keyring".
func ReadKeyring(data []byte, name, repository string) (openpgp.EntityList, error) {
	var keys openpgp.EntityList
	var err error
	begin := []byte("-----BEGIN PGP PUBLIC KEY BLOCK-----")
	if !bytes.Contains(data, begin) {
		keys, err = openpgp.ReadKeyRing(bytes.NewReader(data))
	} else {
		for rest := data[bytes.Index(data, begin):]; rest != nil && err == nil; {
			one := rest
			if i := bytes.Index(rest[1:], begin); i >= 0 {
				one, rest = rest[:i+1], rest[i+1:]
			} else {
				rest = nil
			}
			var more openpgp.EntityList
			more, err = openpgp.ReadArmoredKeyRing(bytes.NewReader(one))
			keys = append(keys, more...)
		}
	}
	if err == nil && len(keys) == 0 {
		err = errors.New("no keys in it")
	}
	if err != nil {
		return nil, event.NewFault(event.ClassUsage, "rpm.keyring", err, "keyring", name, "repository", repository)
	}
	return keys, nil
}

const maxSignature = 1 << 20 // bytes of one signature file or tag

// errUnknownKey is a signature by a key that is not in the ring.
type errUnknownKey struct{ id uint64 }

func (e errUnknownKey) Error() string {
	return fmt.Sprintf("made by the key %016X, which the keyring lacks", e.id)
}

// signature is one OpenPGP signature over data, of version 4 or later, or of version 3, which the packages of some
// distributions still have and go-crypto no longer reads.
type signature struct {
	hash crypto.Hash
	v4   *packet.Signature
	v3   *signatureV3
}

// parseSignatures reads a detached signature, armoured or not. Packets that cannot be read are passed over: among
// several signatures there may be some of a kind that comes later.
func parseSignatures(data []byte) ([]signature, error) {
	if len(data) > maxSignature {
		return nil, fmt.Errorf("signature of more than %d bytes", maxSignature)
	}
	if bytes.HasPrefix(bytes.TrimSpace(data), []byte("-----BEGIN")) {
		block, err := armor.Decode(bytes.NewReader(data))
		if err != nil {
			return nil, err
		}
		if data, err = io.ReadAll(io.LimitReader(block.Body, maxSignature)); err != nil {
			return nil, err
		}
	}
	var sigs []signature
	var problem error
	for in := packet.NewOpaqueReader(bytes.NewReader(data)); ; {
		op, err := in.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		if op.Tag != 2 {
			return nil, fmt.Errorf("packet %d instead of a signature", op.Tag)
		}
		s, err := parseSignature(op)
		if err != nil {
			problem = err
			continue
		}
		sigs = append(sigs, s)
	}
	if len(sigs) == 0 && problem == nil {
		problem = errors.New("no signature")
	}
	if len(sigs) > 0 {
		problem = nil
	}
	return sigs, problem
}

func parseSignature(op *packet.OpaquePacket) (signature, error) {
	if len(op.Contents) > 0 && op.Contents[0] == 3 {
		v3, err := parseV3(op.Contents)
		if err != nil {
			return signature{}, err
		}
		return checkHash(signature{hash: v3.hash, v3: v3})
	}
	p, err := op.Parse()
	if err != nil {
		return signature{}, err
	}
	v4, ok := p.(*packet.Signature)
	if !ok {
		return signature{}, errors.New("not a signature")
	}
	if v4.SigType != packet.SigTypeBinary {
		return signature{}, fmt.Errorf("signature of type %d", v4.SigType)
	}
	return checkHash(signature{hash: v4.Hash, v4: v4})
}

func checkHash(s signature) (signature, error) {
	switch s.hash {
	case crypto.SHA1, crypto.SHA224, crypto.SHA256, crypto.SHA384, crypto.SHA512:
		return s, nil
	}
	return signature{}, fmt.Errorf("signature with the hash %d", s.hash)
}

// newHash is what the signed data is to be written to.
func (s signature) newHash() (hash.Hash, error) {
	if s.v4 != nil {
		return s.v4.PrepareVerify()
	}
	return s.hash.New(), nil
}

// check says whether the signature over what h has seen is good and made by a key of the ring that could sign then.
func (s signature) check(keys openpgp.EntityList, h hash.Hash, now time.Time) error {
	var id uint64
	var made time.Time
	if s.v3 != nil {
		id, made = s.v3.keyID, s.v3.made
	} else {
		made = s.v4.CreationTime
		switch {
		case s.v4.IssuerKeyId != nil:
			id = *s.v4.IssuerKeyId
		case len(s.v4.IssuerFingerprint) >= 20:
			f := s.v4.IssuerFingerprint
			id = binary.BigEndian.Uint64(f[12:20])
			if len(f) == 32 {
				id = binary.BigEndian.Uint64(f[:8])
			}
		}
	}
	if made.After(now.Add(24 * time.Hour)) {
		return fmt.Errorf("dated %s, in the future", made.UTC().Format(time.RFC3339))
	}
	err := error(errUnknownKey{id})
	for _, k := range keys.KeysById(id) {
		if k.Revoked(now) || k.Entity.Revoked(now) {
			err = fmt.Errorf("the key %016X is revoked", id)
			continue
		}
		// A package outlives the key that signed it: the key must have been good when it signed.
		if k.SelfSignature != nil && made.After(k.PublicKey.CreationTime) &&
			k.PublicKey.KeyExpired(k.SelfSignature, made) {
			err = fmt.Errorf("the key %016X had expired when it signed", id)
			continue
		}
		if k.SelfSignature != nil && k.SelfSignature.FlagsValid && !k.SelfSignature.FlagSign {
			err = fmt.Errorf("the key %016X is not for signing", id)
			continue
		}
		if s.v3 != nil {
			err = s.v3.verify(k.PublicKey, h)
		} else {
			err = k.PublicKey.VerifySignature(h, s.v4)
		}
		if err == nil {
			return nil
		}
	}
	return err
}

// verifyDetached says whether one of the signatures over data is good.
func verifyDetached(data, sig []byte, keys openpgp.EntityList, now time.Time) error {
	sigs, err := parseSignatures(sig)
	if err != nil {
		return err
	}
	var problems []error
	for _, s := range sigs {
		h, err := s.newHash()
		if err == nil {
			h.Write(data)
			err = s.check(keys, h, now)
		}
		if err == nil {
			return nil
		}
		problems = append(problems, err)
	}
	return errors.Join(problems...)
}
