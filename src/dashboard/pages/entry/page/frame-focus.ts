import { useWindowEvent } from '@mantine/hooks';
import { type RefObject, useRef } from 'react';

/**
 * Keeps the focus out of a frame whose scripts take it: what is typed elsewhere would go to them. A person moves it there by mouse or touch, which is over
 * the frame then, or by Tab.
 * @returns whether a person acts in the frame, as far as the browser shows
 */
export function useFrameFocus(frame: RefObject<HTMLIFrameElement | null>): () => boolean {
  const isTabbed = useRef(false);
  const last = useRef<HTMLElement | null>(null);
  const isEntered = () => frame.current?.matches(':hover') || isTabbed.current;
  useWindowEvent('keydown', ({ key }) => {
    isTabbed.current = key === 'Tab';
  });
  useWindowEvent('focusin', ({ target }) => {
    if (target instanceof HTMLElement && target !== frame.current) last.current = target;
  });
  useWindowEvent('blur', () => {
    // The element that has the focus is known after this event.
    setTimeout(() => {
      if (frame.current && document.activeElement === frame.current && !isEntered()) last.current?.focus();
    });
  });
  return () =>
    frame.current !== null &&
    document.activeElement === frame.current &&
    navigator.userActivation.isActive &&
    Boolean(isEntered());
}
