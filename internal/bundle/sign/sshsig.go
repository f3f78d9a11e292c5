package sign

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"

	"golang.org/x/crypto/ssh"
)

// The parts of a signature file.
const (
	magic     = "SSHSIG"
	version   = 1
	begin     = "-----BEGIN SSH SIGNATURE-----"
	end       = "-----END SSH SIGNATURE-----"
	lineWidth = 70 // as ssh-keygen breaks them

	// MaxSignature is the largest signature file that is read, in bytes. RSA of 16384 bits needs 6 KiB.
	MaxSignature = 64 << 10
)

// blob is a signature as PROTOCOL.sshsig lays it out, behind the magic.
type blob struct {
	Version   uint32
	PublicKey []byte
	Namespace string
	Reserved  string // signed with the rest, means nothing yet
	Hash      string // sha256 or sha512, of the message
	Signature []byte
}

// parseArmored reads a signature file. The error is not a fault yet.
func parseArmored(data []byte) (blob, error) {
	if len(data) > MaxSignature {
		return blob{}, fmt.Errorf("more than %d bytes", MaxSignature)
	}
	text, ok := bytes.CutPrefix(bytes.TrimSpace(data), []byte(begin))
	if !ok {
		return blob{}, fmt.Errorf("does not begin with %s", begin)
	}
	if text, ok = bytes.CutSuffix(text, []byte(end)); !ok {
		return blob{}, fmt.Errorf("does not end with %s", end)
	}
	raw, err := base64.StdEncoding.Strict().DecodeString(string(bytes.Join(bytes.Fields(text), nil)))
	if err != nil {
		return blob{}, err
	}
	raw, ok = bytes.CutPrefix(raw, []byte(magic))
	if !ok {
		return blob{}, errors.New("no " + magic)
	}
	var b blob
	if err := ssh.Unmarshal(raw, &b); err != nil { // refuses what is left over
		return blob{}, err
	}
	if b.Version != version {
		return blob{}, fmt.Errorf("version %d, only %d is known", b.Version, version)
	}
	return b, nil
}

// armor is the file's text.
func (b blob) armor() []byte {
	text := base64.StdEncoding.EncodeToString(append([]byte(magic), ssh.Marshal(b)...))
	var out bytes.Buffer
	out.WriteString(begin + "\n")
	for len(text) > lineWidth {
		out.WriteString(text[:lineWidth] + "\n")
		text = text[lineWidth:]
	}
	out.WriteString(text + "\n" + end + "\n")
	return out.Bytes()
}
