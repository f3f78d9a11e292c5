package rpm

import (
	"crypto"
	"crypto/rsa"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp/packet"
)

// signatureV3 is a signature packet of version 3 (RFC 4880, 5.2.2) by an RSA key: obs-signd, with which some
// distributions sign, made these for long.
type signatureV3 struct {
	hash   crypto.Hash
	made   time.Time
	keyID  uint64
	suffix []byte // of the hashed data: type and time
	prefix [2]byte
	value  []byte
}

func parseV3(b []byte) (*signatureV3, error) {
	if len(b) < 21 || b[0] != 3 || b[1] != 5 {
		return nil, errors.New("signature of version 3 cut short")
	}
	if b[2] != 0 {
		return nil, fmt.Errorf("signature of type %d", b[2])
	}
	s := &signatureV3{suffix: b[2:7], made: time.Unix(int64(binary.BigEndian.Uint32(b[3:7])), 0),
		keyID: binary.BigEndian.Uint64(b[7:15])}
	if alg := packet.PublicKeyAlgorithm(b[15]); alg != packet.PubKeyAlgoRSA && alg != packet.PubKeyAlgoRSASignOnly {
		return nil, fmt.Errorf("signature of version 3 with the algorithm %d", alg)
	}
	switch b[16] { // RFC 4880, 9.4
	case 2:
		s.hash = crypto.SHA1
	case 8:
		s.hash = crypto.SHA256
	case 9:
		s.hash = crypto.SHA384
	case 10:
		s.hash = crypto.SHA512
	case 11:
		s.hash = crypto.SHA224
	default:
		return nil, fmt.Errorf("signature with the hash %d", b[16])
	}
	copy(s.prefix[:], b[17:19])
	n := (int(binary.BigEndian.Uint16(b[19:21])) + 7) / 8
	if len(b) != 21+n || n == 0 {
		return nil, errors.New("signature of version 3 of the wrong length")
	}
	s.value = b[21:]
	return s, nil
}

func (s *signatureV3) verify(key *packet.PublicKey, h hash.Hash) error {
	pub, ok := key.PublicKey.(*rsa.PublicKey)
	if !ok {
		return errors.New("the key is not an RSA key")
	}
	h.Write(s.suffix)
	digest := h.Sum(nil)
	if [2]byte(digest[:2]) != s.prefix {
		return errors.New("the signed data was changed")
	}
	// The number may have lost zeros in front.
	value := make([]byte, max(pub.Size(), len(s.value)))
	copy(value[len(value)-len(s.value):], s.value)
	return rsa.VerifyPKCS1v15(pub, s.hash, digest, value)
}
