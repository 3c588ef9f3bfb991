/** `<four hexadecimal digits of the whole length><payload>` (gitprotocol-common, pkt-line). */
export function packetLine(payload: string): string {
  return (Buffer.byteLength(payload) + 4).toString(16).padStart(4, '0') + payload;
}

/** Multiplexed streams of an answer (gitprotocol-pack, side-band-64k): the report on the first, what a terminal shows on the second. */
const reportBand = 1;
const progressBand = 2;
const keptText = 4 * 1024;
/** Bytes of progress that are passed on: they may wait in memory for a client that does not read them. */
const mostShown = 64 * 1024;

/** Nothing on the band of the report: git sends it every 5 s while a hook runs, so that neither side takes the other for gone. */
const isKeepAlive = (packet: Buffer) => packet.length === 5 && packet[4] === reportBand;

/** A packet, or a flush (`0000`), whole; null when there is not enough of it yet. */
export function packetAt(bytes: Buffer, at: number): Buffer | null {
  if (bytes.length < at + 4) return null;
  const length = Number.parseInt(bytes.toString('latin1', at, at + 4), 16);
  // What is no packet is passed on as it is.
  if (Number.isNaN(length)) return bytes.subarray(at);
  const end = at + Math.max(4, length);
  return bytes.length < end ? null : bytes.subarray(at, end);
}

/** The packets of a body, flushes too. */
export async function* packetsOf(input: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void> {
  let open: Buffer = Buffer.alloc(0);
  for await (const chunk of input) {
    open = open.length === 0 ? chunk : Buffer.concat([open, chunk]);
    let at = 0;
    for (let packet = packetAt(open, at); packet !== null; packet = packetAt(open, at)) {
      at += packet.length;
      yield packet;
    }
    open = open.subarray(at);
  }
}

/** How a push went, for the lines a client is to read before the report. */
export interface PushEnd {
  /** Whether git took the objects in. */
  unpacked: boolean;
  /** The end of what its terminal was shown. */
  said: string;
}

/**
 * git's answer to a push. Progress passes at once, and git never waits for the client to read it: the push would hold up others meanwhile. The
 * report is held back until `settled`, because a client takes its push for done when it has read that.
 *
 * @param show passes on a packet before the report, without waiting
 * @param settled waits for the end of git; what it returns is shown at the client's terminal, before the report
 */
export async function* pushAnswer(
  stdout: AsyncIterable<Buffer>,
  show: (packet: Buffer) => void,
  settled: (end: PushEnd) => Promise<string | null>,
): AsyncGenerator<Buffer> {
  const report: Buffer[] = [];
  let hasBands = false;
  let said = '';
  let shown = 0;
  let open: Buffer = Buffer.alloc(0);
  for await (const chunk of stdout) {
    open = open.length === 0 ? chunk : Buffer.concat([open, chunk]);
    let at = 0;
    for (let packet = packetAt(open, at); packet !== null && packet.length > 0; packet = packetAt(open, at)) {
      at += packet.length;
      const isEarly = report.length === 0;
      const isProgress = packet[4] === progressBand && isEarly;
      hasBands ||= isProgress || packet[4] === reportBand;
      if (isEarly && isKeepAlive(packet)) show(packet);
      else if (isProgress) {
        said = (said + packet.toString('latin1', 5)).slice(-keptText);
        shown += packet.length;
        if (shown <= mostShown) show(packet);
      } else report.push(packet);
    }
    open = open.subarray(at);
  }
  report.push(open);
  const whole = Buffer.concat(report);
  const message = await settled({ unpacked: whole.includes('unpack ok'), said });
  if (message !== null && hasBands) yield Buffer.from(packetLine(`${String.fromCharCode(progressBand)}${message}\n`));
  yield whole;
}

/** The answer to a push that git is not started for: its report, by which nothing was taken in. */
export function refusedPush(reason: string, hasBands: boolean): string {
  const report = `${packetLine(`unpack ${reason}\n`)}0000`;
  return hasBands ? `${packetLine(String.fromCharCode(reportBand) + report)}0000` : report;
}
