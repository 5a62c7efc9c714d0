package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"io"
	"strings"
	"time"
)

// file is one of an archive. A name with / at its end is a folder.
type file struct {
	name string
	mode int64
	data []byte
}

// epoch is the time of all files: the oldest that zip knows.
var epoch = time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)

func pack(t target, files []file) ([]byte, error) {
	var b bytes.Buffer
	var err error
	if t.OS == "windows" {
		err = packZip(&b, files)
	} else {
		err = packTar(&b, files)
	}
	return b.Bytes(), err
}

func packTar(w io.Writer, files []file) error {
	z := gzip.NewWriter(w)
	if err := writeTar(z, files); err != nil {
		return err
	}
	return z.Close()
}

// hubUser owns the folder of the hub's image.
const hubUser = 1000

func writeTar(w io.Writer, files []file) error {
	tw := tar.NewWriter(w)
	for _, f := range files {
		h := &tar.Header{Name: f.name, Mode: f.mode, Size: int64(len(f.data)), ModTime: epoch, Format: tar.FormatUSTAR}
		if strings.HasSuffix(f.name, "/") {
			h.Typeflag, h.Uid, h.Gid = tar.TypeDir, hubUser, hubUser
		}
		if err := tw.WriteHeader(h); err != nil {
			return err
		}
		if _, err := tw.Write(f.data); err != nil {
			return err
		}
	}
	return tw.Close()
}

func packZip(w io.Writer, files []file) error {
	z := zip.NewWriter(w)
	for _, f := range files {
		fw, err := z.CreateHeader(&zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: epoch})
		if err != nil {
			return err
		}
		if _, err := fw.Write(f.data); err != nil {
			return err
		}
	}
	return z.Close()
}
