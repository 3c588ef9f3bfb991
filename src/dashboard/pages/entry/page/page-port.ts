/** The dashboard's side of the port to a page that is edited in a frame. */
import { type FromPage, MessageGate, type ToPage } from '../../../in-page/messages.ts';

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
  const gate = new MessageGate();
  let port: MessagePort | null = null;
  const begin = ({ source, origin: from, data, ports: [given] }: MessageEvent) => {
    if (source !== frame.contentWindow || from !== origin || !given) return;
    const path = gate.begin(data);
    if (path === null) return;
    port?.close();
    port = given;
    given.onmessage = (event) => {
      const message = gate.take(event.data);
      if (message) onMessage(message);
    };
    const send = (message: ToPage) => {
      if (message.type === 'pieces') gate.offer(message.pieces);
      given.postMessage(message);
    };
    onBegin({ send }, path);
  };
  window.addEventListener('message', begin);
  return () => {
    window.removeEventListener('message', begin);
    port?.close();
  };
}
