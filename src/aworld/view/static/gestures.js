// Wheel, drag, pinch and keys on the timeline.
import { RUNNING } from "./lanes.js";

export function listenTo(timeline, LEFT) {
  const { canvas } = timeline;
  let drag = null, pinch = 0;
  const touches = new Map();
  canvas.addEventListener("wheel", (event) => {
    const inside = event.ctrlKey || event.metaKey || document.activeElement === canvas;
    if (!inside && Math.abs(event.deltaY) >= Math.abs(event.deltaX)) return;
    event.preventDefault();
    const share = (event.offsetX - LEFT) / (canvas.clientWidth - LEFT);
    if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) timeline.pan(event.deltaX / canvas.clientWidth);
    else if (event.shiftKey) timeline.pan(0, Math.sign(event.deltaY) * 2);
    else timeline.zoom(Math.exp(event.deltaY * 0.002), Math.max(0, Math.min(1, share)));
  }, { passive: false });
  canvas.addEventListener("pointerdown", (event) => {
    touches.set(event.pointerId, event.offsetX);
    if (touches.size === 1) drag = { x: event.offsetX, y: event.offsetY, moved: false };
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (touches.size === 2) {
      touches.set(event.pointerId, event.offsetX);
      const [one, other] = [...touches.values()], apart = Math.abs(one - other);
      const middle = ((one + other) / 2 - LEFT) / (canvas.clientWidth - LEFT);
      if (pinch > 10 && apart > 10) timeline.zoom(pinch / apart, middle);
      pinch = apart;
      return;
    }
    if (!drag) {
      timeline.hover(event);
      return;
    }
    const dx = event.offsetX - drag.x, dy = event.offsetY - drag.y;
    if (Math.abs(dx) + Math.abs(dy) > 4) drag.moved = true;
    if (!drag.moved) return;
    timeline.tip.hidden = true;
    timeline.pan(-dx / (canvas.clientWidth - LEFT), -dy / (timeline.shape?.size || 8));
    drag = { x: event.offsetX, y: event.offsetY, moved: true };
  });
  const release = (event) => {
    touches.delete(event.pointerId);
    pinch = 0;
    if (drag && !drag.moved && event.type === "pointerup") {
      const bar = timeline.barAt(event.offsetX, event.offsetY);
      if (bar && bar.status !== RUNNING) timeline.onOpen(bar.slot);
    }
    drag = null;
  };
  canvas.addEventListener("pointerup", release);
  canvas.addEventListener("pointercancel", release);
  canvas.addEventListener("pointerleave", () => {
    timeline.tip.hidden = true;
    timeline.hovered = null;
  });
  canvas.addEventListener("dblclick", () => timeline.fit());
  canvas.addEventListener("keydown", (event) => {
    const acts = {
      "+": () => timeline.zoom(1 / 1.4), "=": () => timeline.zoom(1 / 1.4),
      "-": () => timeline.zoom(1.4), 0: () => timeline.fit(),
      ArrowLeft: () => timeline.pan(-0.15), ArrowRight: () => timeline.pan(0.15),
      ArrowUp: () => timeline.pan(0, -3), ArrowDown: () => timeline.pan(0, 3),
    };
    if (!acts[event.key] || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    acts[event.key]();
  });
}
