// SPDX-License-Identifier: Apache-2.0

package altsconn

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"testing"
)

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// The published vectors of AES-128-GCM with re-keying: those of NIST's and IEEE's GCM
// documents, with the key k extended to k, k^01.., k^02.. and cut to 44 bytes. The
// nonce is the 12-byte counter.
var rekeyVectors = []struct{ name, key, nonce, aad, plain, sealed string }{
	{
		"NIST 1",
		"0000000000000000000000000000000001010101010101010101010101010101020202020202020202020202",
		"000000000000000000000000", "", "",
		"85e873e002f6ebdc4060954eb8675508",
	},
	{
		"NIST 2",
		"0000000000000000000000000000000001010101010101010101010101010101020202020202020202020202",
		"000000000000000000000000", "",
		"00000000000000000000000000000000",
		"51e9a8cb23ca2512c8256afff8e72d681aca19a1148ac115e83df4888cc00d11",
	},
	{
		"NIST 3",
		"feffe9928665731c6d6a8f9467308308fffee8938764721d6c6b8e9566318209fcfdeb908467711e6f688d96",
		"cafebabefacedbaddecaf888", "",
		"d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b391aafd255",
		"1018ed5a1402a86516d6576d70b2ffccca261b94df88b58f53b64dfba435d18b2f6e3b7869f9353d4ac8cf09afb1663daa7b4017e6fc2c177c0c087c0df1162129952213cee1bc6e9c8495dd705e1f3d",
	},
	{
		"NIST 4",
		"feffe9928665731c6d6a8f9467308308fffee8938764721d6c6b8e9566318209fcfdeb908467711e6f688d96",
		"cafebabefacedbaddecaf888", "feedfacedeadbeeffeedfacedeadbeefabaddad2",
		"d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39",
		"1018ed5a1402a86516d6576d70b2ffccca261b94df88b58f53b64dfba435d18b2f6e3b7869f9353d4ac8cf09afb1663daa7b4017e6fc2c177c0c087c4764565d077e9124001ddb27fc0848c5",
	},
	{
		"NIST 4, bit 15 of the counter flipped",
		"feffe9928665731c6d6a8f9467308308fffee8938764721d6c6b8e9566318209fcfdeb908467711e6f688d96",
		"ca7ebabefacedbaddecaf888", "feedfacedeadbeeffeedfacedeadbeefabaddad2",
		"d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39",
		"e650d3c0fb879327f2d03287fa93cd07342b136215adbca00c3bd5099ec41832b1d18e0423ed26bb12c6cd09debb29230a94c0cee15903656f85edb6fc509b1b28216382172ecbcc31e1e9b1",
	},
	{
		"NIST 4, bit 16 of the counter flipped",
		"feffe9928665731c6d6a8f9467308308fffee8938764721d6c6b8e9566318209fcfdeb908467711e6f688d96",
		"cafebbbefacedbaddecaf888", "feedfacedeadbeeffeedfacedeadbeefabaddad2",
		"d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39",
		"c0121e6c954d0767f96630c33450999791b2da2ad05c4190169ccad9ac86ff1c721e3d82f2ad22ab463bab4a0754b7dd68ca4de7ea2531b625eda01f89312b2ab957d5c7f8568dd95fcdcd1f",
	},
	{
		"NIST 4, bit 63 of the counter flipped",
		"feffe9928665731c6d6a8f9467308308fffee8938764721d6c6b8e9566318209fcfdeb908467711e6f688d96",
		"cafebabefacedb2ddecaf888", "feedfacedeadbeeffeedfacedeadbeefabaddad2",
		"d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39",
		"8af37ea5684a4d81d4fd817261fd9743099e7e6a025eaacf8e54b124fb5743149e05cb89f4a49467fe2e5e5965f29a19f99416b0016b54585d12553783ba59e9f782e82e097c336bf7989f08",
	},
	{
		"NIST 4, bit 64 of the counter flipped",
		"feffe9928665731c6d6a8f9467308308fffee8938764721d6c6b8e9566318209fcfdeb908467711e6f688d96",
		"cafebabefacedbaddfcaf888", "feedfacedeadbeeffeedfacedeadbeefabaddad2",
		"d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39",
		"fbd528448d0346bfa878634864d407a35a039de9db2f1feb8e965b3ae9356ce6289441d77f8f0df294891f37ea438b223e3bf2bdc53d4c5a74fb680bb312a8dec6f7252cbcd7f5799750ad78",
	},
	{
		"IEEE 2.1.1",
		"ad7a2bd03eac835a6f620fdcb506b345ac7b2ad13fad825b6e630eddb407b244af7829d23cae81586d600dde",
		"12153524c0895e81b2c28465",
		"d609b1f056637a0d46df998d88e5222ab2c2846512153524c0895e8108000f101112131415161718191a1b1c1d1e1f202122232425262728292a2b2c2d2e2f30313233340001",
		"", "3ea0b584f3c85e93f9320ea591699efb",
	},
	{
		"IEEE 2.4.1",
		"071b113b0ca743fecccf3d051f737382061a103a0da642ffcdce3c041e727283051913390ea541fccecd3f07",
		"f0761e8dcd3d000176d457ed", "e20106d7cd0df0761e8dcd3d88e54c2a76d457ed",
		"08000f101112131415161718191a1b1c1d1e1f202122232425262728292a2b2c2d2e2f30313233340004",
		"fd96b715b93a13346af51e8acdf792cdc7b2686f8574c70e6b0cbf16291ded427ad73fec48cd298e0528a1f4c644a949fc31dc9279706ddba33f",
	},
	{
		"IEEE 2.8.2",
		"4c973dbc7364621674f8b5b89e5c15511fced9216490fb1c1a2caa0ffe0407e54e953fbe7166601476fab7ba",
		"7ae8e2ca4ec500012e58495c", "68f2e77696ce7ae8e2ca4ec588e54d002e58495c",
		"08000f101112131415161718191a1b1c1d1e1f202122232425262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f404142434445464748490008",
		"b44d072011cd36d272a9b7a98db9aa90cbc5c67b93ddce67c854503214e2e896ec7e9db649ed4bcf6f850aac0223d0cf92c83db80795c3a17ecc1248bb00591712b1ae71e268164196252162810b00",
	},
}

// The vectors have additional data and odd counters, so they are run on the key
// derivation and the mask alone.
func TestRekeyVectors(t *testing.T) {
	for _, v := range rekeyVectors {
		var r schedule
		key := unhex(t, v.key)
		copy(r.kdfKey[:], key)
		copy(r.mask[:], key[kdfKeySize:])
		nonce := unhex(t, v.nonce)
		e := binary.LittleEndian.Uint64(append(bytes.Clone(nonce[2:8]), 0, 0))
		for i, m := range r.mask {
			nonce[i] ^= m
		}
		got := r.derive(e).Seal(nil, nonce, unhex(t, v.plain), unhex(t, v.aad))
		if want := unhex(t, v.sealed); !bytes.Equal(got, want) {
			t.Errorf("%s: %x, want %x", v.name, got, want)
		}
	}
}

// key returns bytes 0, 1, 2, ... of the protocol's size.
func key(protocol string) []byte {
	k := make([]byte, KeySize(protocol))
	for i := range k {
		k[i] = byte(i)
	}
	return k
}

// Whole records: plaintext "hello", with the key 00 01 02 ...
func TestRecordVectors(t *testing.T) {
	for _, v := range []struct {
		protocol string
		sealer   Side
		number   uint64
		want     string
	}{
		{AES128GCM, Client, 0, "190000000600000021b3eb3ff6d5da0429e8cdfe3e7c225048a22ae7c0"},
		{AES128GCM, Server, 0, "1900000006000000d029bd23ad995277f06698d4b8ee4d77f7d59d016b"},
		{AES128GCM, Client, 1<<40 - 1, "1900000006000000760f6634f11f572eff875040cbec0716dc83b50f94"},
		{AES128GCMRekey, Client, 0, "190000000600000037f9b12df8b25c013d0126f5db8f2b2d727f234851"},
		{AES128GCMRekey, Server, 65535, "190000000600000041f2b11e53674db09cb5441c5eee8a25817bb32f8c"},
		{AES128GCMRekey, Server, 65536, "19000000060000000735834b3290a1896e1e5a943dc5371c8d48329a02"},
		{AES128GCMRekey, Client, 1<<64 - 1, "190000000600000014f5acb6d57ef752a5b46ed79082ca5c228746252e"},
	} {
		c := crypterAt(t, v.protocol, v.sealer, v.number)
		got, err := c.seal(appendHeader(nil, 5), []byte("hello"))
		if err != nil {
			t.Fatal(err)
		}
		if hex.EncodeToString(got) != v.want {
			t.Errorf("%s, sealer %d, record %d: %x, want %s", v.protocol, v.sealer, v.number, got, v.want)
		}
		if size, err := recordSize(got); err != nil || size != len(got) {
			t.Errorf("size %d, %v", size, err)
		}
		o := crypterAt(t, v.protocol, v.sealer, v.number)
		p, err := o.open(nil, got[headerSize:])
		if err != nil || string(p) != "hello" {
			t.Errorf("opened: %q, %v", p, err)
		}
	}
}

func crypterAt(t testing.TB, protocol string, sealer Side, next uint64) *crypter {
	t.Helper()
	c, server, err := newCrypters(protocol, key(protocol))
	if err != nil {
		t.Fatal(err)
	}
	if sealer == Server {
		c = server
	}
	c.next = next
	return c
}

func TestCounterExhausted(t *testing.T) {
	for protocol, last := range map[string]uint64{AES128GCM: 1<<40 - 1, AES128GCMRekey: 1<<64 - 1} {
		c := crypterAt(t, protocol, Client, last)
		o := crypterAt(t, protocol, Client, last)
		sealed, err := c.seal(nil, []byte("last"))
		if err != nil {
			t.Fatalf("%s: the last record: %v", protocol, err)
		}
		if _, err := o.open(nil, sealed); err != nil {
			t.Fatalf("%s: opening the last record: %v", protocol, err)
		}
		for range 2 {
			if _, err := c.seal(nil, nil); !errors.Is(err, ErrCounterExhausted) {
				t.Errorf("%s: seal past the end: %v", protocol, err)
			}
			if _, err := o.open(nil, sealed); !errors.Is(err, ErrCounterExhausted) {
				t.Errorf("%s: open past the end: %v", protocol, err)
			}
		}
	}
}

// Over several changes of key both sides agree, in place and not.
func TestRekeying(t *testing.T) {
	s, o := crypterAt(t, AES128GCMRekey, Server, 0), crypterAt(t, AES128GCMRekey, Server, 0)
	buf := make([]byte, 0, 64)
	for i := range uint64(3<<16 + 10) {
		sealed, err := s.seal(buf, []byte("0123456789"))
		if err != nil {
			t.Fatal(err)
		}
		dst := sealed[:0]
		if i%2 == 1 {
			dst = nil
		}
		p, err := o.open(dst, sealed)
		if err != nil || string(p) != "0123456789" {
			t.Fatalf("record %d: %q, %v", i, p, err)
		}
		if s.epoch != i>>16 {
			t.Fatalf("record %d: epoch %d", i, s.epoch)
		}
	}
}

func TestWrongRecords(t *testing.T) {
	for _, protocol := range []string{AES128GCM, AES128GCMRekey} {
		good, _ := crypterAt(t, protocol, Client, 7).seal(nil, []byte("text"))
		flip := bytes.Clone(good)
		flip[2] ^= 1
		tag := bytes.Clone(good)
		tag[len(tag)-1] ^= 0x80
		for name, tt := range map[string]struct {
			sealed []byte
			opener *crypter
		}{
			"changed":         {flip, crypterAt(t, protocol, Client, 7)},
			"wrong tag":       {tag, crypterAt(t, protocol, Client, 7)},
			"cut":             {good[:len(good)-1], crypterAt(t, protocol, Client, 7)},
			"repeated":        {good, crypterAt(t, protocol, Client, 8)},
			"out of order":    {good, crypterAt(t, protocol, Client, 6)},
			"sent back":       {good, crypterAt(t, protocol, Server, 7)},
			"an epoch behind": {good, crypterAt(t, protocol, Client, 7+1<<16)},
		} {
			if _, err := tt.opener.open(nil, tt.sealed); !errors.Is(err, ErrAuth) {
				t.Errorf("%s, %s: %v", protocol, name, err)
			}
		}
	}
}

func TestKeys(t *testing.T) {
	if n := KeySize("ALTSRP_NONE"); n != 0 {
		t.Errorf("size %d for an unknown protocol", n)
	}
	for _, tt := range []struct {
		protocol string
		size     int
	}{{"", 16}, {"ALTSRP_NONE", 16}, {AES128GCM, 15}, {AES128GCM, 44}, {AES128GCMRekey, 16}, {AES128GCMRekey, 128}} {
		if _, _, err := newCrypters(tt.protocol, make([]byte, tt.size)); err == nil {
			t.Errorf("%q with %d bytes of key: no error", tt.protocol, tt.size)
		}
	}
}

func TestRecordSize(t *testing.T) {
	header := func(n, typ uint32) []byte {
		return binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(nil, n), typ)
	}
	for _, tt := range []struct {
		b    []byte
		want int // -1: an error
	}{
		{nil, 0},
		{header(20, 6)[:3], 0},
		{header(20, 6)[:4], 0},
		{header(20, 6)[:7], 0},
		{header(20, 6), 24},
		{header(21, 6), 25},
		{header(1<<20, 6), 1<<20 + 4},
		{header(19, 6), -1},
		{header(0, 6), -1},
		{header(3, 6)[:4], -1}, // known from the length alone
		{header(1<<20+1, 6)[:4], -1},
		{header(1<<32-1, 6), -1},
		{header(20, 5), -1},
		{header(20, 0), -1},
		{header(20, 6<<24), -1},
	} {
		got, err := recordSize(tt.b)
		var re *recordError
		if (tt.want < 0) != errors.As(err, &re) || err == nil && got != tt.want {
			t.Errorf("%x: %d, %v; want %d", tt.b, got, err, tt.want)
		}
	}
}
