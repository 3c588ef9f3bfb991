/** What comes from a frame in which a page is edited: messages by its port, and the focus. Neither is trusted. */
import { useWindowEvent } from '@mantine/hooks';
import { type RefObject, useRef } from 'react';
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

/** Times that a page may take the focus by itself: some do so once, with a field for searches. */
const mostThefts = 5;

/** Milliseconds for which a browser takes an act of a person for the cause of what follows (transient activation); none takes longer. */
const activation = 5_000;

interface FrameFocus {
  /** Whether a person acts in the frame, as far as the browser shows. */
  isPerson: () => boolean;
  /** The page is one of which nothing is known yet. */
  reset: () => void;
}

/**
 * Keeps the focus out of a frame whose scripts take it: what is typed elsewhere would go to them. A person moves it there by mouse, which is over the
 * frame then, by Tab, or by touch. Of a touch in a frame of another process a browser shows only that a person has acted, which no script brings about;
 * it counts when the act was none in the dashboard. A key may be quicker than the focus comes back, so a page that goes on taking it has to go.
 * @param onThefts after the last that is endured
 */
export function useFrameFocus(frame: RefObject<HTMLIFrameElement | null>, onThefts: () => void): FrameFocus {
  const isTabbed = useRef(false);
  const thefts = useRef(0);
  const last = useRef<HTMLElement | null>(null);
  /** When a person last acted in the dashboard. */
  const acted = useRef(Number.NEGATIVE_INFINITY);
  const isTouched = () => navigator.userActivation.isActive && performance.now() - acted.current > activation;
  const isEntered = () => frame.current?.matches(':hover') || isTabbed.current || isTouched();
  const act = () => {
    acted.current = performance.now();
  };
  useWindowEvent('keydown', ({ key }) => {
    isTabbed.current = key === 'Tab';
    act();
  });
  useWindowEvent('pointerdown', act);
  useWindowEvent('pointerup', act);
  useWindowEvent('focusin', ({ target }) => {
    if (target instanceof HTMLElement && target !== frame.current) last.current = target;
  });
  useWindowEvent('blur', () => {
    // The element that has the focus is known after this event.
    setTimeout(() => {
      if (!frame.current || document.activeElement !== frame.current || isEntered()) return;
      if (last.current) last.current.focus();
      else frame.current.blur();
      thefts.current += 1;
      if (thefts.current === mostThefts) onThefts();
    });
  });
  return {
    isPerson: () =>
      frame.current !== null &&
      document.activeElement === frame.current &&
      navigator.userActivation.isActive &&
      Boolean(isEntered()),
    reset: () => {
      thefts.current = 0;
    },
  };
}
