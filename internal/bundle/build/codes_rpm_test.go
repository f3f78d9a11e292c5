package build_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/packet"

	"github.com/eggo-k8s/eggo/internal/bundle/build"
	"github.com/eggo-k8s/eggo/internal/testkit/buildtest"
)

// rpms is a repository below /rpm of an upstream with the package a.
type rpms struct {
	sum       string // element of the package's checksum
	requires  string // of the package
	filelists string
}

func (r rpms) publish(u *buildtest.Upstream) {
	if r.sum == "" {
		r.sum = `<checksum type="sha256" pkgid="YES">` + strings.Repeat("a", 64) + `</checksum>`
	}
	if r.requires != "" {
		r.requires = `<rpm:requires><rpm:entry name="` + r.requires + `"/></rpm:requires>`
	}
	primary :=
		`<metadata xmlns="http://linux.duke.edu/metadata/common" xmlns:rpm="http://linux.duke.edu/metadata/rpm" packages="1">` +
			`<package type="rpm"><name>a</name><arch>noarch</arch><version epoch="0" ver="1" rel="1"/>` + r.sum +
			`<summary>s</summary><description>d</description><packager/><url/><time file="1" build="1"/>` +
			`<size package="1" installed="1" archive="1"/><location href="a-1-1.noarch.rpm"/>` +
			`<format><rpm:license>MIT</rpm:license><rpm:sourcerpm>s.src.rpm</rpm:sourcerpm><rpm:header-range start="1" end="2"/>` +
			`<rpm:provides><rpm:entry name="a" flags="EQ" epoch="0" ver="1" rel="1"/></rpm:provides>` +
			r.requires + "</format></package></metadata>"
	var data strings.Builder
	for typ, text := range map[string]string{"filelists": r.filelists, "primary": primary} {
		file := "repodata/" + typ + ".xml"
		u.Set("/rpm/"+file, []byte(text))
		fmt.Fprintf(&data,
			`<data type="%s"><checksum type="sha256">%x</checksum><location href="%s"/><size>%d</size></data>`,
			typ, sha256.Sum256([]byte(text)), file, len(text))
	}
	u.Set("/rpm/repodata/repomd.xml",
		[]byte(`<repomd xmlns="http://linux.duke.edu/metadata/repo"><revision>1</revision>`+data.String()+`</repomd>`))
}

// rpmJob is a build of the package a for a distribution of the rpm family.
func rpmJob(t *testing.T, u *buildtest.Upstream, repository, install string) build.Options {
	t.Helper()
	o := job(t, u, "registry.test/app:1", "amd64")
	respec(t, &o, func(string) string {
		return "version: 1\nname: test\nkubernetes: v1.34.2\nos: {family: rpm, id: openEuler, release: \"24.03\"}\n" +
			"packages:\n  repositories:\n    - {type: rpm, " + repository + "}\n  install:\n    - {name: \"" + install +
			"\", roles: [worker]}\n"
	})
	return o
}

// What a repository of rpm packages must not be.
func TestRPMRepositories(t *testing.T) {
	for _, tt := range []struct {
		name, keyring string
		rpms          rpms
		want          string
		words         []string
	}{
		{"sums of another kind", "keys.gpg", rpms{sum: `<checksum type="sha512" pkgid="YES">` + strings.Repeat("a",
			128) + `</checksum>`},
			"build.no-sha256", []string{"a-1-1.noarch", "set dir to"}},
		{"a list of files that is cut off", "keys.gpg",
			rpms{requires: "/opt/tool", filelists: "<filelists packages=\"1\"><package"},
			"rpm.filelists", []string{"/rpm cannot be used", "another mirror"}},
		{"a file that has no keys", "spec.yaml", rpms{}, "rpm.keyring",
			[]string{"The keyring spec.yaml of http://", "RPM-GPG-KEY"}},
		{"a key file that is empty", "empty", rpms{}, "rpm.keyring", []string{"no keys in it"}},
		{"a key file that is not there", "none", rpms{}, "build.keyring", []string{"The keyring none of http://"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			u := buildtest.New(t)
			tt.rpms.publish(u)
			o := rpmJob(t, u, "url: "+u.URL+"/rpm, keyring: "+tt.keyring, "a")
			write(t, filepath.Join(filepath.Dir(o.Out), "empty"), "")
			wantFault(t, o, tt.want, tt.words...)
		})
	}
}

// A repository's metadata that somebody changed, or that somebody else signed.
func TestASignedRPMRepository(t *testing.T) {
	u := buildtest.New(t)
	rpms{}.publish(u)
	const file = "/rpm/repodata/repomd.xml"
	key, err := openpgp.NewEntity("other", "", "other@eggo.test", &packet.Config{Algorithm: packet.PubKeyAlgoEdDSA})
	if err != nil {
		t.Fatal(err)
	}
	var sig bytes.Buffer
	if err := openpgp.ArmoredDetachSign(&sig, key, bytes.NewReader(u.Get(file)), nil); err != nil {
		t.Fatal(err)
	}
	u.Set(file+".asc", sig.Bytes())
	o := rpmJob(t, u, "url: "+u.URL+"/rpm, keyring: keys.gpg", "a")
	wantFault(t, o, "rpm.repomd-signature", "repomd.xml of "+u.URL+"/rpm", "keyring")

	var ring bytes.Buffer
	if err := key.Serialize(&ring); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(filepath.Dir(o.Out), "keys.gpg"), ring.String())
	u.Set("/rpm/a-1-1.noarch.rpm", nil)
	wantFault(t, o, "fetch.not-found", "a-1-1.noarch.rpm") // the signature is good: the package is what is missing
	o.Out = t.TempDir()                                    // without the lock
	u.Set(file, bytes.Replace(u.Get(file), []byte("<revision>1"), []byte("<revision>2"), 1))
	wantFault(t, o, "rpm.repomd-signature")
}

// A file in place of a directory of packages.
func TestADirectoryOfRPMsThatIsNone(t *testing.T) {
	o := rpmJob(t, buildtest.New(t), "dir: keys.gpg", "a")
	wantFault(t, o, "rpm.directory", "directory of packages keys.gpg", "not a directory")
}

// A package can ask for more than any distribution has: each of its choices doubles what there is to look at.
func TestTooMuchToResolve(t *testing.T) {
	u := buildtest.New(t)
	var choices []string
	for i := range 20 {
		choices = append(choices, fmt.Sprintf("(a%d and b%d)", i, i))
	}
	rpms{requires: "(" + strings.Join(choices, " or ") + ")"}.publish(u)
	o := rpmJob(t, u, "url: "+u.URL+"/rpm, keyring: keys.gpg", "a")
	wantFault(t, o, "rpm.too-large", "x86_64", "more than")
}
