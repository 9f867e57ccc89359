mod dump;
mod stat;
