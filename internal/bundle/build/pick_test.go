package build_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"hash/crc32"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/mholt/archives"

	"github.com/eggo-k8s/eggo/internal/bundle/build"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/testkit/buildtest"
)

// Members are picked from whatever upstream packs its programs in. testdata/etcd.7z holds etcd-v3/etcd, a program for
// amd64, and etcd-v3/README.
func TestPickFromAnyArchive(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "etcd-v3", "etcd"), string(buildtest.ELF("amd64", "etcd")))
	write(t, filepath.Join(dir, "etcd-v3", "README"), "read me")
	files, err := archives.FilesFromDisk(t.Context(), nil, map[string]string{filepath.Join(dir, "etcd-v3"): "etcd-v3"})
	if err != nil {
		t.Fatal(err)
	}
	for name, format := range map[string]archives.Archiver{
		"etcd.tar":     archives.Tar{},
		"etcd.tar.gz":  archives.CompressedArchive{Compression: archives.Gz{}, Archival: archives.Tar{}},
		"etcd.tar.xz":  archives.CompressedArchive{Compression: archives.Xz{}, Archival: archives.Tar{}},
		"etcd.tar.zst": archives.CompressedArchive{Compression: archives.Zstd{}, Archival: archives.Tar{}},
		"etcd.zip":     archives.Zip{},
		"etcd.7z":      nil,
		"no-extension": archives.Zip{},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := buildtest.New(t)
			o := job(t, u, "registry.test/app:1", "amd64")
			text, err := os.ReadFile("testdata/etcd.7z")
			if err != nil {
				t.Fatal(err)
			}
			if format != nil {
				var b bytes.Buffer
				if err := format.Archive(t.Context(), &b, files); err != nil {
					t.Fatal(err)
				}
				text = b.Bytes()
			}
			write(t, filepath.Join(filepath.Dir(o.Out), name), string(text))
			respec(t, &o, func(s string) string {
				return s + "files:\n  - {name: f, path: " + name +
					", dst: /opt/cni/bin, roles: [worker], pick: {etcd-v3/etcd: picked}}\n"
			})
			r := mustBuild(t, o)
			has("picked")(t, manifest(t, r.Bundles[0].Path))
			for _, p := range pins(t, o).Arches["amd64"].Files {
				if p.Name == "f" && (len(p.Picked) != 1 ||
					p.Picked[0].Size != int64(len(buildtest.ELF("amd64", "etcd")))) {
					t.Errorf("%+v", p)
				}
			}
		})
	}
}

// A 7z archive of fifty bytes says that it has eight million members, and the library makes room for as many.
func TestAnArchivesCountsAreNotTrusted(t *testing.T) {
	u := buildtest.New(t)
	o := job(t, u, "registry.test/app:1", "amd64")
	list := []byte{1, 5, 0xe0, 0, 0, 0x80, 0, 0} // header, files, their number
	start := binary.LittleEndian.AppendUint64(make([]byte, 8), uint64(len(list)))
	start = binary.LittleEndian.AppendUint32(start, crc32.ChecksumIEEE(list))
	archive := binary.LittleEndian.AppendUint32([]byte("7z\xbc\xaf\x27\x1c\x00\x04"), crc32.ChecksumIEEE(start))
	write(t, filepath.Join(filepath.Dir(o.Out), "etcd.7z"), string(append(append(archive, start...), list...)))
	respec(t, &o, func(s string) string {
		return s + "files:\n  - {name: f, path: etcd.7z, dst: /opt/cni/bin, roles: [worker], " +
			"pick: {etcd-v3/etcd: picked}}\n"
	})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := build.Build(context.Background(), o)
	runtime.ReadMemStats(&after)
	if f := event.AsFault(err); err == nil || f.Code != "build.archive" {
		t.Errorf("%v", err)
	}
	if took := (after.TotalAlloc - before.TotalAlloc) >> 20; took > 256 {
		t.Errorf("%d MiB were asked for", took)
	}
}
