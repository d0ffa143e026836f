// SPDX-License-Identifier: Apache-2.0

package grpcwire

// Quoted returns what of a text that a peer sent is quoted in a status: all of it, unless it is longer than a
// sensible one. To quote, encode, and send back what a peer may send would cost more than to receive it.
func Quoted[T Text](v T) string { return clipTo(v, 256) }

// clip shortens what a peer sent, so that it can't make an error message of any length.
func clip[T Text](v T) string { return clipTo(v, 64) }

func clipTo[T Text](v T, most int) string {
	if len(v) > most {
		return string(v[:most]) + "..."
	}
	return string(v)
}
