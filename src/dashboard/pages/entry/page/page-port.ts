/** What comes from a frame in which a page is edited: messages by its port, and the focus. Neither is trusted. */
import { useWindowEvent } from '@mantine/hooks';
import { type RefObject, useEffect, useRef, useState } from 'react';
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

/** Milliseconds after each of which an act is looked for again. */
const lateness = [30, 70, 150];

interface FrameFocus {
  /** Whether a person acts in the frame, as far as the browser shows. */
  isPerson: () => boolean;
  /** The same at once or within a moment: a message of the page may come before the browser shows whose act it follows. Only the last is awaited. */
  whenPerson: (act: () => void) => void;
  /** A person has touched what lies over the frame in place of it. */
  touch: () => void;
  /** A touch in the frame would look like a script that takes the focus: the dashboard has been touched or typed in a moment ago. */
  isGuarded: boolean;
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
  /** When a person last touched the frame through what lies over it, and has done nothing else since. */
  const touched = useRef(Number.NEGATIVE_INFINITY);
  /** The last pointer that was used was a finger. */
  const isTouch = useRef(false);
  const [isGuarded, setGuarded] = useState(false);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  const act = ({ type }: Event) => {
    if (type !== 'pointerup') touched.current = Number.NEGATIVE_INFINITY;
    acted.current = performance.now();
    clearTimeout(timer.current);
    setGuarded(isTouch.current);
    if (isTouch.current) timer.current = setTimeout(() => setGuarded(false), activation);
  };
  const point = (event: PointerEvent) => {
    isTouch.current = event.pointerType === 'touch';
    act(event);
  };
  useWindowEvent('keydown', (event) => {
    isTabbed.current = event.key === 'Tab';
    act(event);
  });
  useWindowEvent('pointerdown', point);
  useWindowEvent('pointerup', point);
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
  const isPerson = () =>
    performance.now() - touched.current < activation ||
    (frame.current !== null &&
      document.activeElement === frame.current &&
      navigator.userActivation.isActive &&
      Boolean(isEntered()));
  const awaited = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(awaited.current), []);
  const whenPerson = (act: () => void, delays: readonly number[] = lateness) => {
    clearTimeout(awaited.current);
    const [delay, ...others] = delays;
    if (isPerson()) act();
    else if (delay !== undefined) awaited.current = setTimeout(() => whenPerson(act, others), delay);
  };
  return {
    isPerson,
    whenPerson: (act) => whenPerson(act),
    touch: () => {
      touched.current = performance.now();
    },
    isGuarded,
    reset: () => {
      thefts.current = 0;
    },
  };
}
