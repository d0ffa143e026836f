// SPDX-License-Identifier: Apache-2.0

package regex

import (
	"regexp"
	"regexp/syntax"
	"strings"
	"testing"
)

func TestWholeAndPart(t *testing.T) {
	for _, tt := range []struct {
		expr, text  string
		whole, part bool
	}{
		{"a|ab", "ab", true, true},
		{"b", "abc", false, true},
		{"(?m)^b$", "a\nb", false, true},
		{"a", "a\n", false, true},
		{"", "", true, true},
		{".*", "é\xff", true, true},
		{`\Qa.b`, "a.b", true, true}, // quoted to the end
		{`\Qa.b`, "xa.b", false, true},
		{`\Qa.b\E|c`, "c", true, true},
	} {
		whole, err := Whole(tt.expr)
		if err != nil {
			t.Fatal(err)
		}
		part, err := Part(tt.expr)
		if err != nil {
			t.Fatal(err)
		}
		if w, p := whole.MatchString(tt.text), part.MatchString(tt.text); w != tt.whole || p != tt.part {
			t.Errorf("%q on %q: whole %v, part %v", tt.expr, tt.text, w, p)
		}
	}
}

// TestBounds: what is long, or becomes a long program, is refused, before that program is made; errors
// of syntax are those of package regexp.
func TestBounds(t *testing.T) {
	for _, tt := range []struct{ name, expr, want string }{
		{"long", strings.Repeat("a", MaxText+1), "65537 bytes"},
		{"repeated", strings.Repeat("(?:a{1000})", 500), "steps"},
		{"nested", strings.Repeat("(?:(?:(?:[ab]{10}){10}){10}|)", 500), "steps"},
		{"no lower bound", strings.Repeat("a{1000,}", 500), "steps"},
		{"parenthesis", "a)(b", "unexpected )"},
	} {
		for _, compile := range []func(string) (*regexp.Regexp, error){Whole, Part} {
			if _, err := compile(tt.expr); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s: %v, want %q in it", tt.name, err, tt.want)
			}
		}
	}
	open := "a("
	_, got := Whole(open)
	_, want := regexp.Compile(string([]byte(open)))
	if got == nil || got.Error() != want.Error() {
		t.Errorf("%v, want %v", got, want)
	}
	for _, expr := range []string{strings.Repeat("a", MaxText), strings.Repeat("a{1000}", 100)} {
		if _, err := Whole(expr); err != nil {
			t.Errorf("%.20s...: %v", expr, err)
		}
	}
}

// TestStepsFollowPrograms: the estimate is within a small factor of what is held for a program.
func TestStepsFollowPrograms(t *testing.T) {
	for _, expr := range []string{"abc", "a{500}", "(?:ab|cd){100}", "(?:a{2,30}){20}", "x*y+z?", strings.Repeat("[a-z]", 300), "(?i)straße{40}"} {
		n, made := programOf(t, expr)
		if n*3+10 < made || n > 4*made {
			t.Errorf("%q: %d steps, the program has %d", expr, n, made)
		}
	}
}

func programOf(t *testing.T, expr string) (estimate, made int) {
	t.Helper()
	tree, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		t.Fatal(err)
	}
	estimate = steps(tree)
	prog, err := syntax.Compile(tree.Simplify())
	if err != nil {
		t.Fatal(err)
	}
	return estimate, len(prog.Inst)
}
