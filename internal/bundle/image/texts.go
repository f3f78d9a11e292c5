package image

// Text is a document of an archive, a member before its blobs.
type Text struct {
	Name string
	Data []byte
}

// Texts are the documents of the archive in its order; each stands as a regular file with mode 0644 and time 0, as the
// blobs do that follow under BlobPath.
func (l *Layout) Texts() []Text {
	var out []Text
	for _, d := range l.documents {
		out = append(out, Text{d.name, d.data})
	}
	return out
}

// BlobPath is the member of an archive that holds the blob with that digest.
func BlobPath(digest string) string { return blobPath(digest) }
