// biome-ignore-start lint/suspicious/noControlCharactersInRegex: control characters are what is taken out
/** Control sequences (ECMA-48 5.4), operating system commands and the other strings a terminal takes (5.6), two-character escapes. */
const escapes = /\u001b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\u0007\u001b]*(?:\u0007|\u001b\\|$)|[ -/]*[0-~])/g;
const controls = /[\u0000-\u0008\u000a-\u001f\u007f-\u009f]/g;
// biome-ignore-end lint/suspicious/noControlCharactersInRegex: see above

/** A line as plain text: without what only a terminal understands. Of a line written over by carriage returns the last state stays. */
export function cleanLine(line: string): string {
  const plain = line.replace(escapes, '').replace(/\r+$/, '');
  return plain.slice(plain.lastIndexOf('\r') + 1).replace(controls, '');
}
