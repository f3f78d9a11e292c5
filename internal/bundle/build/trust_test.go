package build_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/eggo-k8s/eggo/internal/bundle/build"
	"github.com/eggo-k8s/eggo/internal/bundle/fetch"
	"github.com/eggo-k8s/eggo/internal/bundle/lock"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/testkit/buildtest"
)

func pins(t *testing.T, o build.Options) *lock.Lock {
	t.Helper()
	l, err := lock.Read(filepath.Join(o.Out, lock.Name))
	if err != nil || l == nil {
		t.Fatal(l, err)
	}
	return l
}

// TestFirstUseIsOnce: what one architecture's build trusted on first use is no other thing for the next architecture.
func TestFirstUseIsOnce(t *testing.T) {
	other := map[string][]byte{"/dl/net.yml": []byte("# other\n"), "/keys": buildtest.New(t).Keyring}
	for file, more := range other {
		u := buildtest.New(t)
		o := job(t, u, "registry.test/app:1", "amd64")
		u.Set("/keys", u.Keyring)
		respec(t, &o, func(s string) string {
			return strings.Replace(s, "keyring: keys.gpg", "keyring: "+u.URL+"/keys", 1)
		})
		mustBuild(t, o)
		o.Arches = []string{"arm64"}
		good := u.Get(file)
		u.Set(file, slices.Concat(good, more))
		var err error
		if o.Cache, err = fetch.OpenCache(t.TempDir()); err != nil {
			t.Fatal(err)
		}
		if _, err := build.Build(context.Background(), o); code(err) != "build.first-use" {
			t.Errorf("%s: %v", file, err)
		}
		u.Set(file, good)
		if res := mustBuild(t, o); len(res.Warnings) > 0 {
			t.Errorf("%s: %v", file, res.Warnings)
		}
		u.Set(file, slices.Concat(good, more))
		if res, err := build.Update(context.Background(), o); err != nil || len(res.Warnings) != 2 {
			t.Errorf("%s: an update of one architecture: %v, %v", file, res, err)
		}
		u.Set(file, good)
		if _, err := build.Update(context.Background(), o); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		if l := pins(t, o); l.Set("amd64").Addons[0].SHA256 != l.Set("arm64").Addons[0].SHA256 ||
			l.Set("amd64").Packages == nil {
			t.Errorf("%s: %+v", file, l)
		}
	}
}

// TestOneIndex: a tag that moved between two architectures' builds is one version all the same, until an update.
func TestOneIndex(t *testing.T) {
	u := buildtest.New(t)
	both := job(t, u, "registry.test/app:1", "amd64", "arm64")
	want := mustBuild(t, both)
	o := job(t, u, "registry.test/app:1", "amd64")
	mustBuild(t, o)
	retag(t, u)
	o.Arches = []string{"arm64"}
	if got := mustBuild(t, o); got.Bundles[0].SHA256 != want.Bundles[1].SHA256 {
		t.Errorf("%+v, together %+v", got.Bundles[0], want.Bundles[1])
	}
	one, err := os.ReadFile(filepath.Join(o.Out, lock.Name))
	if err != nil {
		t.Fatal(err)
	}
	if two, err := os.ReadFile(want.Lock); err != nil || string(one) != string(two) {
		t.Errorf("%v: the locks differ:\n%s\n%s", err, one, two)
	}
	if _, err := build.Update(context.Background(), o); code(err) != "bundle.image-arch" {
		t.Errorf("an update takes what the tag means now: %v", err)
	}
}

// TestBesideEachOther: two builds of one directory, each for its architecture, leave the lock of one for both.
func TestBesideEachOther(t *testing.T) {
	u := buildtest.New(t)
	both := job(t, u, "registry.test/app:1", "amd64", "arm64", "amd64")
	if res := mustBuild(t, both); len(res.Bundles) != 2 {
		t.Errorf("%+v", res.Bundles)
	}
	want, err := os.ReadFile(filepath.Join(both.Out, lock.Name))
	if err != nil {
		t.Fatal(err)
	}
	o := job(t, u, "registry.test/app:1")
	o.Lock = filepath.Join(filepath.Dir(o.Out), "pins", lock.Name)
	var wg sync.WaitGroup
	started := make(chan struct{})
	for _, arch := range []string{"amd64", "arm64"} {
		wg.Go(func() {
			one := o
			one.Arches = []string{arch}
			one.Report = func(e build.Event) { // both have read the lock that is not there yet
				if e.Kind != build.Started {
					return
				}
				select {
				case started <- struct{}{}:
				case <-started:
				}
			}
			if _, err := build.Build(context.Background(), one); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if got, err := os.ReadFile(o.Lock); err != nil || string(got) != string(want) {
		t.Errorf("%v\n%s", err, got)
	}
}

// TestWhoVouches: another checksum file is another question; that the spec vouches for a repository stands in the lock.
func TestWhoVouches(t *testing.T) {
	u := buildtest.New(t)
	o := job(t, u, "registry.test/app:1", "amd64")
	mustBuild(t, o)
	if s := pins(t, o).Set("amd64"); s.Packages.Packages[0].Trust != "metadata" || s.Files[0].Trust != "checksum" {
		t.Errorf("%+v", s)
	}
	u.Set("/dl/other", []byte(strings.Repeat("0", 64)))
	respec(t, &o, func(s string) string { return strings.Replace(s, "kubelet.sha256", "kubelet.sha512", 1) })
	o.Locked = true
	if _, err := build.Build(context.Background(), o); code(err) != "build.locked" {
		t.Errorf("another checksum file: %v", err)
	}
	o.Locked = false
	respec(t, &o, func(s string) string {
		s = strings.Replace(s, "keyring: keys.gpg", "trusted: true", 1)
		sum := pins(t, o).Set("amd64").Files[0].SHA256
		return strings.Replace(s, "checksum: https://dl.test/{kubernetes}/{arch}/kubelet.sha512", "sha256: "+sum, 1)
	})
	mustBuild(t, o)
	if s := pins(t, o).Set("amd64"); s.Packages.Packages[0].Trust != "trusted" || s.Files[0].Trust != "spec" ||
		s.Files[0].Checksum != "" {
		t.Errorf("%+v", s)
	}
}

// TestHostileLock: a lock that somebody else wrote may cost the build, and nothing else.
func TestHostileLock(t *testing.T) {
	u := buildtest.New(t)
	secret := filepath.Join(t.TempDir(), "secret.deb")
	write(t, secret, string(buildtest.Deb("socat", "2.36-1+deb12u1", "amd64")))
	good := job(t, u, "registry.test/app:1", "amd64")
	mustBuild(t, good)
	text, err := os.ReadFile(filepath.Join(good.Out, lock.Name))
	if err != nil {
		t.Fatal(err)
	}
	socat := func(s *lock.Set) *lock.Package { return &s.Packages.Packages[len(s.Packages.Packages)-1] }
	for name, change := range map[string]func(*lock.Set){
		"a package that is a file of this machine": func(s *lock.Set) { socat(s).URL = "file:" + secret },
		"a package out of a directory":             func(s *lock.Set) { socat(s).URL = "file:pkgs/../../etc/passwd" },
		"a package of another scheme": func(s *lock.Set) {
			socat(s).URL = "ftp://a.test/socat_2.36-1+deb12u1_amd64.deb"
		},
		"a package of another name":   func(s *lock.Set) { socat(s).URL += "/.." },
		"a package named as a member": func(s *lock.Set) { socat(s).URL = u.URL + "/SHA256SUMS" },
		"two stanzas":                 func(s *lock.Set) { p := socat(s); p.Meta += "\n" + p.Meta },
		"metadata of another package": func(s *lock.Set) { socat(s).Meta = s.Packages.Packages[0].Meta },
		"one package twice": func(s *lock.Set) {
			s.Packages.Packages = append(s.Packages.Packages, *socat(s))
		},
		"a package of another architecture": func(s *lock.Set) { socat(s).Arch = "arm64" },
		"a path out of addons":              func(s *lock.Set) { s.Addons[0].Files[0].Path = "../../etc/x" },
		"an absolute path":                  func(s *lock.Set) { s.Addons[0].Files[0].Path = "/etc/x" },
		"the name of a member":              func(s *lock.Set) { s.Addons[0].Files[0].Path = "../manifest.json" },
		"one addon's file twice": func(s *lock.Set) {
			s.Addons[0].Files = append(s.Addons[0].Files, s.Addons[0].Files[0])
		},
		"a member picked twice":               func(s *lock.Set) { s.Files[1].Picked[1] = s.Files[1].Picked[0] },
		"an addon of a registry that is none": func(s *lock.Set) { s.Addons[0].URL = "oci://///" },
		"an addon of another sum": func(s *lock.Set) {
			s.Addons[0].Files[0].SHA256 = strings.Repeat("0", 64)
		},
		"a program of another sum":  func(s *lock.Set) { s.Files[0].SHA256 = strings.Repeat("0", 64) },
		"a program of another size": func(s *lock.Set) { s.Files[0].Size = 1 << 60 },
		"a layer of another size":   func(s *lock.Set) { s.Images[0].Layers[0].Size = 1 << 60 },
		"sizes that overflow": func(s *lock.Set) {
			s.Images[0].Layers[0].Size, s.Images[0].Config.Size = 1<<63-1, 1<<63-1
		},
		"a layer that is the manifest": func(s *lock.Set) { s.Images[0].Layers[0] = s.Images[0].Manifest },
		"a manifest that is a layer":   func(s *lock.Set) { s.Images[0].Manifest = s.Images[0].Layers[0] },
		"an image's name that is none": func(s *lock.Set) { s.Images[0].Names = []string{"../../x"} },
		"no configuration":             func(s *lock.Set) { s.Images[0].Config = s.Images[0].Layers[0] },
	} {
		t.Run(name, func(t *testing.T) {
			l, err := lock.Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			o := good
			o.Out, o.Locked = t.TempDir(), true
			if o.Cache, err = fetch.OpenCache(t.TempDir()); err != nil {
				t.Fatal(err)
			}
			change(l.Set("amd64"))
			changed, err := json.Marshal(l)
			if err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(o.Out, lock.Name), string(changed))
			_, err = build.Build(context.Background(), o)
			f := (*event.Fault)(nil)
			if !errors.As(err, &f) {
				t.Errorf("%v", err)
			}
			t.Log(err)
			left, err := os.ReadDir(o.Out)
			if err != nil || len(left) != 1 {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
}
