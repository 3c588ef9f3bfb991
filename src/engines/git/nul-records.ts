/** Splits git's output with `-z` into its records; each step yields those completed by one chunk of the stream. */
export async function* records(stream: AsyncIterable<Buffer>): AsyncGenerator<string[]> {
  const open: Buffer[] = [];
  for await (const chunk of stream) {
    const end = chunk.lastIndexOf(0);
    if (end === -1) {
      open.push(chunk);
      continue;
    }
    const whole = chunk.subarray(0, end);
    const text = open.length === 0 ? whole : Buffer.concat([...open.splice(0), whole]);
    yield text.toString('utf8').split('\0');
    if (end + 1 < chunk.length) open.push(chunk.subarray(end + 1));
  }
  if (open.length > 0) yield [Buffer.concat(open).toString('utf8')];
}
