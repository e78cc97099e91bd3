export { HttpHubLink } from './http-hub-link.js';
