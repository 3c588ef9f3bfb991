/** Splits what git prints with `-z` into its records, as they come. */
export async function* records(stream: AsyncIterable<Buffer>): AsyncGenerator<string> {
  const open: Buffer[] = [];
  for await (const chunk of stream) {
    let at = 0;
    for (let end = chunk.indexOf(0); end !== -1; end = chunk.indexOf(0, at)) {
      const last = chunk.subarray(at, end);
      yield (open.length === 0 ? last : Buffer.concat([...open.splice(0), last])).toString('utf8');
      at = end + 1;
    }
    if (at < chunk.length) open.push(chunk.subarray(at));
  }
  if (open.length > 0) yield Buffer.concat(open).toString('utf8');
}
