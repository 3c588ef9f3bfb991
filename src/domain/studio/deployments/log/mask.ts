/** Shorter values would mask half of a log and hide nothing. */
const shortest = 4;
const replacement = '********';

/** Base64 of a text wherever it lies in a longer one: its bytes can begin at three places of a group (RFC 4648 4). */
function base64Forms(text: string): string[] {
  const bytes = Buffer.from(text);
  const forms = [0, 1, 2].map((shift) => {
    const encoded = Buffer.concat([Buffer.alloc(shift), bytes])
      .toString('base64')
      .replace(/=+$/, '');
    // The characters at both ends share bits with their neighbours.
    const from = Math.ceil((shift * 8) / 6);
    const whole = Math.floor(((shift + bytes.length) * 8) / 6);
    return encoded.slice(from, whole);
  });
  const padded = bytes.toString('base64');
  return [padded, ...forms].flatMap((form) => [form, form.replaceAll('+', '-').replaceAll('/', '_')]);
}

function formsOf(secret: string): string[] {
  const url = encodeURIComponent(secret);
  const forms = [secret, url, url.replaceAll('%20', '+'), url.toLowerCase(), JSON.stringify(secret).slice(1, -1)];
  const lines = secret.split(/\r?\n/).filter((line) => line.trim().length >= shortest * 2);
  return [...forms, ...(lines.length > 1 ? lines : []), ...base64Forms(secret)];
}

/** Takes the values of secrets out of a text: as they are, in base64, URL-encoded, and each line of those with several. */
export function masker(secrets: readonly string[]): (text: string) => string {
  const forms = [...new Set(secrets.filter(({ length }) => length >= shortest).flatMap(formsOf))]
    .filter(({ length }) => length >= shortest)
    // The longest first, so that no part of one is left when a shorter one lies within it.
    .sort((a, b) => b.length - a.length);
  if (forms.length === 0) return (text) => text;
  const pattern = new RegExp(forms.map((form) => form.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')).join('|'), 'g');
  return (text) => text.replace(pattern, replacement);
}
