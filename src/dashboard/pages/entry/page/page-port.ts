/** The dashboard's side of the port to a page that is edited in a frame. The page is not trusted: each message is judged, and too many are dropped. */
import { type FromPage, fromPage, hello, type ToPage } from '../../../in-page/messages.ts';

/** Messages of a page that are taken in a second, and at once after silence. */
const perSecond = 20;

export interface PagePort {
  send: (message: ToPage) => void;
}

interface Listener {
  /** A page has begun in the frame; its path as its browser has it. */
  onBegin: (port: PagePort, path: string) => void;
  onMessage: (message: FromPage) => void;
}

/** Takes the port of each page that begins in a frame. @returns what ends that */
export function listenToFrame(frame: HTMLIFrameElement, origin: string, { onBegin, onMessage }: Listener): () => void {
  let port: MessagePort | null = null;
  let allowed = perSecond;
  let since = performance.now();
  const isAllowed = () => {
    const now = performance.now();
    allowed = Math.min(perSecond, allowed + ((now - since) / 1000) * perSecond);
    since = now;
    if (allowed < 1) return false;
    allowed -= 1;
    return true;
  };
  const begin = ({ source, origin: from, data, ports }: MessageEvent) => {
    if (source !== frame.contentWindow || from !== origin) return;
    const begun = hello.safeParse(data);
    const [given] = ports;
    if (!begun.success || !given || !isAllowed()) return;
    port?.close();
    port = given;
    given.onmessage = ({ data: message }) => {
      if (!isAllowed()) return;
      const judged = fromPage.safeParse(message);
      if (judged.success) onMessage(judged.data);
    };
    onBegin({ send: (message) => given.postMessage(message) }, begun.data.path);
  };
  window.addEventListener('message', begin);
  return () => {
    window.removeEventListener('message', begin);
    port?.close();
  };
}
