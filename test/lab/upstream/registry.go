package upstream

import (
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// registryPath is the read side of the OCI distribution API; the first group, the repository, begins with the
// registry's host name.
var registryPath = regexp.MustCompile(
	`^/v2/([a-z0-9]+(?:[._/-]+[a-z0-9]+)*)/(manifests|blobs|tags)/([A-Za-z0-9][A-Za-z0-9_.:-]*)$`)

var digestForm = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

// registry serves the images of a cache directory, read only.
type registry struct{ dir string }

func (g registry) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Docker-Distribution-Api-Version", "registry/2.0")
	if r.URL.Path == "/v2/" || r.URL.Path == "/v2" {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte("{}"))
		return
	}
	m := registryPath.FindStringSubmatch(r.URL.Path)
	switch {
	case m == nil:
		registryError(w, http.StatusNotFound, "NAME_UNKNOWN", "no such path")
	case m[2] == "tags" && m[3] == "list":
		g.tags(w, m[1])
	case m[2] == "manifests":
		g.manifest(w, r, m[1], m[3])
	case m[2] == "blobs" && digestForm.MatchString(m[3]):
		g.blob(w, r, m[3])
	default:
		registryError(w, http.StatusNotFound, "BLOB_UNKNOWN", "no such blob")
	}
}

func registryError(w http.ResponseWriter, status int, code, message string) {
	b, _ := json.Marshal(map[string]any{"errors": []map[string]string{{"code": code, "message": message}}})
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(b)
}

func (g registry) tags(w http.ResponseWriter, repository string) {
	names := []string{}
	entries, err := os.ReadDir(filepath.Join(g.dir, refsDir, filepath.FromSlash(repository)))
	for _, e := range entries {
		if e.Type().IsRegular() && !strings.HasPrefix(e.Name(), ".") {
			names = append(names, e.Name())
		}
	}
	if err != nil || len(names) == 0 {
		registryError(w, http.StatusNotFound, "NAME_UNKNOWN", "no such repository")
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"name": repository, "tags": names})
}

func (g registry) manifest(w http.ResponseWriter, r *http.Request, repository, ref string) {
	digest := ref
	if !digestForm.MatchString(ref) {
		b, err := os.ReadFile(filepath.Join(g.dir, refsDir, filepath.FromSlash(repository), ref))
		if err != nil {
			registryError(w, http.StatusNotFound, "MANIFEST_UNKNOWN", "no such tag")
			return
		}
		digest = string(b)
	}
	h, err := v1.NewHash(digest)
	if err != nil {
		registryError(w, http.StatusInternalServerError, "UNKNOWN", err.Error())
		return
	}
	b, err := os.ReadFile(filepath.Join(g.dir, blobsDir, h.Hex))
	var m struct {
		MediaType string `json:"mediaType"`
	}
	if err == nil {
		err = json.Unmarshal(b, &m)
	}
	if err != nil || m.MediaType == "" {
		registryError(w, http.StatusNotFound, "MANIFEST_UNKNOWN", "no such manifest")
		return
	}
	w.Header().Set("Content-Type", m.MediaType)
	g.send(w, r, h)
}

func (g registry) blob(w http.ResponseWriter, r *http.Request, digest string) {
	h, err := v1.NewHash(digest)
	if err != nil {
		registryError(w, http.StatusBadRequest, "DIGEST_INVALID", err.Error())
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	g.send(w, r, h)
}

// send answers with a blob; ranges, conditions and HEAD are net/http's.
func (g registry) send(w http.ResponseWriter, r *http.Request, h v1.Hash) {
	f, err := os.Open(filepath.Join(g.dir, blobsDir, h.Hex))
	if err != nil {
		status := http.StatusInternalServerError
		if errors.Is(err, os.ErrNotExist) {
			status = http.StatusNotFound
		}
		registryError(w, status, "BLOB_UNKNOWN", "no such blob")
		return
	}
	defer func() { _ = f.Close() }()
	st, err := f.Stat()
	if err != nil {
		registryError(w, http.StatusInternalServerError, "UNKNOWN", err.Error())
		return
	}
	w.Header().Set("Docker-Content-Digest", h.String())
	w.Header().Set("Etag", `"`+h.String()+`"`)
	http.ServeContent(w, r, "", st.ModTime(), f)
}
