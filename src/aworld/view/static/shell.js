// A command for the clipboard: nothing in it steers the terminal that it is put into.

const UNSEEN = new RegExp(
  "[\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u180e\\u200b-\\u200f\\u2028-\\u202e" +
    "\\u2060-\\u2069\\ufeff\\ufff9-\\ufffb]|[\\u{e0000}-\\u{e007f}]", "u");
const WORDS = /(?:\$'(?:[^'\\]|\\[^])*'|'[^']*'|"[^"]*"|[^\s'"])+/g;

// The same command, as Python's shlex has quoted it, with such signs written as escapes in $'…'.
export function rerun(command) {
  if (!UNSEEN.test(command)) return command;
  return command.match(WORDS).map((word) => (UNSEEN.test(word) ? escaped(plain(word)) : word)).join(" ");
}

function plain(word) {
  return word.replace(/'([^']*)'|"([^"]*)"/g, (_, single, double) => single ?? double);
}

function escaped(text) {
  const signs = Array.from(text, (sign) => {
    const code = sign.codePointAt(0);
    if (sign === "\\" || sign === "'") return `\\${sign}`;
    if (!UNSEEN.test(sign)) return sign;
    if (SHORT[sign]) return SHORT[sign];
    const hex = (digits) => code.toString(16).padStart(digits, "0");
    if (code < 0x80) return `\\x${hex(2)}`;
    return code > 0xffff ? `\\U${hex(8)}` : `\\u${hex(4)}`;
  });
  return `$'${signs.join("")}'`;
}

const SHORT = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };
