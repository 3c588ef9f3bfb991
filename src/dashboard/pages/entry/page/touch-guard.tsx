/**
 * Over a page that a person may touch while the browser cannot show that it is a person: takes the touches itself, scrolls the page by them, and sends it
 * where it was tapped.
 */
import { type PointerEvent, type RefObject, useRef } from 'react';
import { coverStyle } from './over.tsx';
import classes from './page.module.css';

/** Pixels that a finger moves in a tap. */
const slop = 10;

interface TouchGuardProps {
  frame: RefObject<HTMLIFrameElement | null>;
  /** @param at in the window of the page, pixels */
  onTap: (at: { left: number; top: number }) => void;
  onScroll: (by: number) => void;
}

export function TouchGuard({ frame, onTap, onScroll }: TouchGuardProps) {
  const finger = useRef<{ top: number; last: number; isPan: boolean } | null>(null);
  if (!frame.current) return null;
  const lift = ({ clientX, clientY }: PointerEvent) => {
    const isTap = finger.current?.isPan === false;
    finger.current = null;
    const box = frame.current?.getBoundingClientRect();
    if (box && isTap) onTap({ left: clientX - box.left, top: clientY - box.top });
  };
  return (
    <div
      className={classes.guard ?? ''}
      data-testid="touch-guard"
      style={coverStyle(frame.current)}
      onPointerDown={({ isPrimary, clientY }) => {
        finger.current = isPrimary ? { top: clientY, last: clientY, isPan: false } : null;
      }}
      onPointerMove={({ clientY }) => {
        const held = finger.current;
        if (!held) return;
        held.isPan ||= Math.abs(clientY - held.top) > slop;
        if (!held.isPan) return;
        onScroll(held.last - clientY);
        held.last = clientY;
      }}
      onPointerUp={lift}
      onPointerCancel={() => {
        finger.current = null;
      }}
    />
  );
}
